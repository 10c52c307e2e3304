"""Lines and files made to keep a parser busy: each ends within the bound, whatever it tells."""


import pytest

from driftwatch.dumps.format import NoDump
from driftwatch.dumps.read import read_dump

LONG, MANY = 100_000, 20_000
TEXTS = {
    "a heading with blanks": "### OS" + " " * LONG + "~\n### GPU\n\na\n",
    "a description with blanks": "### OS\n\nDescription:" + " " * LONG + "~\n\n### GPU\n\nx\n",
    "a driver's words again and again": "### Driver version\n\nNVRM version " + "Kernel Module " * (LONG // 14) + "\n\n### OS\n\nx\n",
    "brackets that do not close": "a:\n  image: x\n  command: " + "[" * LONG + "\n",
    "lists that do not close": "a:\n  image: x\n  command: ['a',\n" + "  - [b\n" * MANY,
    "images without a service": "a:\n" + "  image: x\n" * MANY,
    "a command named on every row of its list": "a 1 poetry show\n" * MANY,
    "a package with blanks": "dependencies:\n  - a" + " " * LONG + "~\n  - b=1\n",
    "a row that ends in blanks": "a 1 " + " " * LONG + "conda ~\n",
    "dots without a value": "DeepSpeed general environment info:\ntorch version " + "." * LONG + "\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_costs_no_more_than_its_length(name, bound):
    try:
        assert read_dump(TEXTS[name], "paste") is not None
    except NoDump:
        return
