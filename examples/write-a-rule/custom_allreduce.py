"""At our site the custom all-reduce has been slow on PCIe: where it was switched on, suspect it."""

from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.rule import Evidence, Rule, Wording

FACT = "servers/sglang/args/disable_custom_all_reduce"
SEEN_BEFORE = 1.6  # log-odds: five times in six it was this


def weigh(case: Case) -> Iterator[Evidence]:
    """Yield the switch, where it went from off to on."""
    found = case.known(FACT)
    if found is None or found != (True, False):
        return
    look = Command("try", "# start the server with --disable-custom-all-reduce", "restarts the server")
    wording = Wording("launch argument", "--disable-custom-all-reduce", "~", True, False, commands=(look,))
    terms = (Term("the custom all-reduce was switched on, which has been slow over PCIe here", SEEN_BEFORE, (FACT,)),)
    yield Evidence(Subject("launch-arg", "disable_custom_all_reduce"), terms, wording)


RULES = (Rule("custom all-reduce", (FACT,), weigh, ("launch-arg",)),)
