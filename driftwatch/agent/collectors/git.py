"""The state of the checkout that the sources lie in, asked so that git neither writes nor runs anything: no index refresh, no hook, no monitor, no filter.

| path | what |
|---|---|
| git/KEY/root, head, branch | the top folder; the commit; the branch, ``(detached)`` if there is none |
| git/KEY/committed_at | ISO in UTC |
| git/KEY/upstream, ahead, behind | the branch followed, and the commits that lie between |
| git/KEY/dirty | whether a tracked file differs from HEAD; untracked files do not count |
| git/KEY/stashes | how many there are |
| git/KEY/remotes/NAME | its URL, user and password taken out |
| git/KEY/files/PATH | {"status", "sha256", "only"} of each file that differs from HEAD or is untracked |

``status`` are git's two letters (``.M``, ``A.``, ``??`` …); ``sha256`` is of the file now, null if it is not there or was not read (then "unread" says
why); ``only`` says what alone differs: ``whitespace``, ``line-ends`` or ``encoding``, else null ("only_unknown" says why it could not be told).
KEY is ``sglang`` where the checkout holds that package, else the folder's name. Where git cannot be asked, head and branch come from its files and
the rest is unknown.
"""
from __future__ import annotations

from .. import git_texts
from ..host import Digest, Host, Ran
from ..probe import Absent, Fact, Probe, Unknown, fact_path
from ..source_trees import Tree, trees
from ..typed import Any, Dict, Iterator, List, Tuple

LEVELS = 6
FILES = 200
HASHED_BYTES = 256 << 20
SMALL = 1 << 16
ASKED = ("committed_at", "upstream", "ahead", "behind", "dirty", "files")


def collect(host: Host) -> Iterator[Fact]:
    """Yield the state of each checkout; Absent where no source tree lies in one."""
    seen: List[str] = []
    is_any_unknown = False
    for tree in trees(host):
        root = _root(host, tree)
        if isinstance(root, Unknown):
            is_any_unknown = True
            yield fact_path("git", tree.key), root
        elif root is not None and root not in seen:
            key = tree.key if not seen else root
            seen.append(root)
            yield from _checkout(host, fact_path("git", key), root)
    if not seen and not is_any_unknown:
        raise Absent("no source tree lies in a git checkout")


def _root(host: Host, tree: Tree) -> Any:
    """Return the folder at or above a source tree that holds ``.git``, None or Unknown. Installed packages are not looked for above."""
    folder = tree.named
    is_installed = "/site-packages/" in folder + "/" or "/dist-packages/" in folder + "/"
    for _ in range(1 if is_installed else LEVELS):
        there = host.attempt(host.exists, folder + "/.git")
        if there is not False and there is not None:
            return there if isinstance(there, Unknown) else folder
        folder = folder.rpartition("/")[0]
        if not folder:
            return None
    return None


def _checkout(host: Host, top: str, root: str) -> Iterator[Fact]:
    yield top + "/root", root
    places = _places(host, root)
    yield from _from_files(host, top, places)
    env = _safe_env(host, root)
    status = env if isinstance(env, Unknown) else _ask(host, root, env, ["status", "--porcelain=v2", "--branch"])
    state = status if isinstance(status, Unknown) else host.attempt(git_texts.parse_status, status)
    if isinstance(state, Unknown):
        yield from _head_from_files(host, top, places)
        yield from ((top + "/" + name, state) for name in ASKED)
        return
    yield from _state(top, state)
    if state.head is not None:
        log = _ask(host, root, env, ["log", "-1", "--format=%H %cI"])
        yield top + "/committed_at", log if isinstance(log, Unknown) else host.attempt(git_texts.parse_committed_at, log)
    yield from _files(host, top, (root, env), state)


def _places(host: Host, root: str) -> Tuple[str, str]:
    """Return the folder of this work tree's own git files and that of the files it shares; they differ for a linked work tree."""
    own = root + "/.git"
    text = host.attempt(host.head, own, SMALL)
    if isinstance(text, str) and text.startswith("gitdir:"):
        own = _below(root, text.partition(":")[2].strip())
    shared = host.attempt(host.head, own + "/commondir", SMALL)
    return own, _below(own, shared.strip()) if isinstance(shared, str) else own


def _below(folder: str, path: str) -> str:
    return path if path.startswith("/") else folder + "/" + path


def _from_files(host: Host, top: str, places: Tuple[str, str]) -> Iterator[Fact]:
    """Yield what git's own files tell without git: remotes and stashes."""
    config = host.try_read(places[1] + "/config")
    remotes = git_texts.parse_remotes(config) if isinstance(config, str) else {}
    yield from ((top + "/" + fact_path("remotes", name), url) for name, url in sorted(remotes.items()))
    if isinstance(config, Unknown):
        yield top + "/remotes", config
    stashes = host.try_read(places[1] + "/logs/refs/stash")
    yield top + "/stashes", stashes if isinstance(stashes, Unknown) else (stashes or "").count("\n")


def _head_from_files(host: Host, top: str, places: Tuple[str, str]) -> Iterator[Fact]:
    """Yield head and branch as .git/HEAD and the refs say."""
    head = host.try_read(places[0] + "/HEAD", SMALL)
    if not isinstance(head, str):
        yield top + "/head", head or Unknown("error", "%s/HEAD: no such file" % places[0])
        return
    ref = git_texts.parse_head(head)
    yield top + "/branch", ref[len("refs/heads/"):] if ref.startswith("refs/heads/") else "(detached)"
    if not ref.startswith("refs/"):
        yield top + "/head", ref
        return
    loose = host.try_read(places[1] + "/" + ref, SMALL)
    packed = host.try_read(places[1] + "/packed-refs") if loose is None else None
    commit = loose.strip() if isinstance(loose, str) else git_texts.parse_packed(packed, ref) if isinstance(packed, str) else loose or packed
    yield top + "/head", commit or Unknown("error", "%s: no file names its commit" % ref)


def _safe_env(host: Host, root: str) -> Any:
    """Return the variables with which git may be asked; Unknown where it would not say which filters it is set to run."""
    env = git_texts.safe_env(root, [])
    ran = host.try_run(["git", "-C", root, "config", "-z", "--list"], 2.0, env)
    if isinstance(ran, Ran):
        return git_texts.safe_env(root, git_texts.parse_filters(ran.stdout)) if ran.rc == 0 else _failed("config", ran)
    if isinstance(ran, Unknown):
        return env if ran.status == "not_recorded" else ran
    return Unknown("error", "git: no such command")


def _ask(host: Host, root: str, env: Dict[str, str], words: List[str]) -> Any:
    """Return what a git command printed, or Unknown."""
    ran = host.try_run(["git", "-C", root, *words], 4.0 if words[0] == "status" else 2.0, env)
    if isinstance(ran, Ran):
        return ran.stdout if ran.rc == 0 else _failed(words[0], ran)
    return ran or Unknown("error", "git: no such command")


def _failed(word: str, ran: Ran) -> Unknown:
    return Unknown("error", "git %s: exit code %d: %s" % (word, ran.rc, ran.stderr.strip().partition("\n")[0][:200] or "no text"))


def _state(top: str, state: git_texts.Status) -> Iterator[Fact]:
    told: Dict[str, Any] = {"head": state.head, "branch": state.branch, "upstream": state.upstream, "ahead": state.ahead, "behind": state.behind}
    yield from ((top + "/" + name, value) for name, value in told.items() if value is not None)
    yield top + "/dirty", any(code != "??" for code in state.files.values())


def _files(host: Host, top: str, asked: Tuple[str, Dict[str, str]], state: git_texts.Status) -> Iterator[Fact]:
    """Yield each file that differs from HEAD or that git does not know, up to a limit."""
    root, env = asked
    tracked = [path for path, code in state.files.items() if code != "??"]
    diff: Any = _ask(host, root, env, ["diff", "--no-ext-diff", "--no-textconv", "HEAD"]) if tracked and state.head else ""
    only = git_texts.parse_diff(diff) if isinstance(diff, str) else {}
    left = min(host.settings.byte_budget, HASHED_BYTES)
    for path, code in list(state.files.items())[:FILES]:
        digest = host.attempt(host.sha256, root + "/" + path, left) if not path.endswith("/") else None
        left -= digest.size if isinstance(digest, Digest) else 0
        told: Dict[str, Any] = {"status": code, "sha256": digest.sha256 if isinstance(digest, Digest) else None, "only": only.get(path)}
        if isinstance(digest, Unknown):
            told["unread"] = digest.reason
        if isinstance(diff, Unknown) and code != "??":
            told["only_unknown"] = diff.reason
        yield top + "/" + fact_path("files", path), told
    if len(state.files) > FILES:
        yield top + "/files", Unknown("error", "%d files differ or are untracked, %d of them are told" % (len(state.files), FILES))


PROBES = (Probe(
    "git", collect, deadline_s=10.0, needs_targets=True, tells=("git/*",),
    reads="git status, log and diff of the checkout that the sources lie in (nothing is written, no hook or filter runs); .git/config, stash log"),)
