"""The house rules that a machine can keep (docs/house.md). The direction of imports between rooms is import-linter's, in .ci/run."""

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path

from driftwatch.capture.plan import offers

TOP = Path(__file__).parent.parent
PACKAGE = TOP / "driftwatch"
AGENT = PACKAGE / "agent"
COLLECTORS = AGENT / "collectors"
DOOR = {"bounded", "child", "loopback", "main", "mate", "processes", "real", "recorded", "runner", "spawned"}
OPERATING_SYSTEM = {"os", "subprocess", "socket", "shutil", "pathlib", "time", "io", "ctypes", "multiprocessing", "signal", "select", "mmap", "tempfile"}
LONGEST_FUNCTION = 50
LONGEST_FILE = 400


def modules(folder):
    return sorted(path for path in folder.rglob("*.py") if path.name != "__init__.py")


def name(path):
    return path.relative_to(TOP).as_posix()


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """Return what a module imports: absolute names, and relative ones with their dots."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            lead = "." * node.level
            found |= {lead + node.module} if node.module else {lead + alias.name for alias in node.names}
    return found


def functions(path):
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(node):
    return node.end_lineno - node.lineno + 1


def faults(paths, fault):
    """Return what a question finds at each of the paths, without those where it finds nothing."""
    return {name(path): found for path in paths if (found := fault(path))}


def test_the_agent_imports_the_standard_library_and_itself_alone():
    def strangers(path):
        return {one for one in imported(path) if not one.startswith(".") and one.partition(".")[0] not in sys.stdlib_module_names}

    assert faults(modules(AGENT), strangers) == {}


def test_no_import_leaves_the_agent():
    def outside(path):
        return [one for one in imported(path) if len(one) - len(one.lstrip(".")) > len(path.relative_to(AGENT).parts)]

    assert faults(modules(AGENT), outside) == {}


def test_pynvml_is_named_only_at_the_one_door():
    named = [path.name for path in modules(AGENT) if re.search(r"""["']pynvml["']|import pynvml""", path.read_text(encoding="utf-8"))]
    assert named == ["real.py"]


def test_only_the_door_touches_the_operating_system():
    def touches(path):
        called = {node.func.id for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        return {one.partition(".")[0] for one in imported(path)} & OPERATING_SYSTEM | called & {"open", "exec", "eval", "__import__"}

    assert faults([path for path in modules(AGENT) if path.stem not in DOOR], touches) == {}


def test_the_agent_starts_without_what_costs_more_than_it_gives():
    """These cost as much as Python itself needs to start, in front of every snapshot; who needs one imports it where it is needed."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import driftwatch.agent.main, driftwatch.agent.real; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", program, str(TOP)], capture_output=True, text=True, check=True)
    assert {"typing", "subprocess", "threading", "datetime", "ctypes", "csv", "hmac", "importlib.util"} & set(ran.stdout.split()) == set()


def test_a_collector_imports_no_other_collector_and_nothing_that_runs_probes():
    def forbidden(path):
        inside = {one.lstrip(".").partition(".")[0] for one in imported(path) if one.startswith(".")}
        return inside & (DOOR | {other.stem for other in modules(COLLECTORS)})

    assert faults(modules(COLLECTORS), forbidden) == {}


def test_a_collecting_function_holds_no_try():
    def trying(path):
        collecting = [node for node in functions(path) if any(isinstance(one, ast.Yield) for one in ast.walk(node))]
        return [node.name for node in collecting if any(isinstance(one, ast.Try) for one in ast.walk(node))]

    assert faults(modules(COLLECTORS), trying) == {}


LISTS = re.compile(r"\w+(?:\.\w+)*\.(?:try_list\(|attempt\(\w+(?:\.\w+)*\.(?:list|entries)\b)")
PASSED_ON = r"(?:isinstance\(|yield \(.*, )%s(?:, Unknown)?\)"


def test_a_folder_that_could_not_be_listed_is_never_an_empty_one():
    """Who lists a folder returns or yields the answer, or asks whether it is Unknown; ``names_in`` and ``noted_names`` do so for all others."""
    def is_passed_on(line, text):
        name = re.match(r" +(\w+)(?:: \w+)? = ", line)
        return re.match(r" +return \w+\.", line) or (name and re.search(PASSED_ON % name.group(1), text))

    def careless(path):
        texts = [ast.unparse(function) for function in functions(path)]
        return [line.strip() for text in texts for line in text.splitlines() if LISTS.search(line) and not is_passed_on(line, text)]

    assert faults(modules(AGENT), careless) == {}


def test_every_collector_offers_probes():
    def has_probes(path):
        return any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROBES" for node in tree(path).body)

    assert [name(path) for path in modules(COLLECTORS) if not has_probes(path)] == []


def test_no_package_re_exports_anything():
    assert faults(sorted(PACKAGE.rglob("__init__.py")), lambda path: [ast.unparse(node) for node in tree(path).body if not isinstance(node, ast.Expr)]) == {}


def test_annotations_of_the_agent_are_never_evaluated():
    assert [name(path) for path in modules(AGENT) if "__future__" not in imported(path)] == []


def test_no_function_and_no_file_is_too_long():
    lengths = {f"{name(path)}:{node.name}": length(node) for path in modules(PACKAGE) for node in functions(path)}
    lines = {name(path): path.read_text(encoding="utf-8").count("\n") for path in modules(PACKAGE)}
    tenths = statistics.quantiles(lengths.values(), n=10)
    print(f"functions: {len(lengths)}, median {statistics.median(lengths.values())} lines, 90th percentile {tenths[-1]:.0f}, longest {max(lengths.values())}")  # noqa: T201  # a measure for people
    print(f"files: {len(lines)}, 90th percentile {statistics.quantiles(lines.values(), n=10)[-1]:.0f} lines, longest {max(lines.values())}")  # noqa: T201  # the same
    assert {where: count for where, count in lengths.items() if count > LONGEST_FUNCTION} == {}
    assert {where: count for where, count in lines.items() if count > LONGEST_FILE} == {}


def test_no_comment_divides_a_file_into_sections():
    divided = [name(path) for path in modules(PACKAGE) if re.search(r"^\s*#\s*[-=#*]{4,}", path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert divided == []


def test_people_and_ci_run_the_same_commands():
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    assert "bash scripts/start.sh" in readme
    assert "bash scripts/test.sh" in readme
    assert (TOP / ".ci/run").read_text(encoding="utf-8").splitlines()[-1] == "bash scripts/test.sh"


def test_every_probe_has_its_row_in_the_docs():
    rows = (TOP / "docs/snapshot.md").read_text(encoding="utf-8")
    assert [offer.probe.name for offer in offers() if f"\n| {offer.probe.name} |" not in rows] == []


def test_no_text_leans_on_what_lies_outside_the_repository():
    outside = "../" + "shared"
    texts = [path for pattern in ("*.md", "docs/*.md", "scripts/*", "driftwatch/**/*.py", "tests/**/*.py") for path in TOP.glob(pattern)]
    assert [name(path) for path in texts if outside in path.read_text(encoding="utf-8")] == []


def test_the_licence_is_the_one_that_the_package_names():
    assert "Apache License" in (TOP / "LICENSE").read_text(encoding="utf-8").splitlines()[1]
    assert 'license = "Apache-2.0"' in (TOP / "pyproject.toml").read_text(encoding="utf-8")
