"""Slurm as the line: one step on one node. A node that is down or drained is told so at once, and never waited for.

Inside a running job (``--jobid``, or a shell of a job) the step shares what the job has; else it is a new allocation that must start at once. It sees
what Slurm lets it see: without the job, no GPU that was not asked for. Nothing of this machine's environment goes along. A step that could not be
ended by its standard input is cancelled by the name that it alone has.
"""
from __future__ import annotations

import math
import re
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .asking import ask
from .child import converse
from .conversation import Conversation
from .destination import USUAL, Destination, Options
from .wire import LinkLost, command, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment

SINFO_S = 5.0
CANCEL_S = 1.0
PART_TO_CANCEL = 0.15
IMMEDIATE_S = 10
AWAY = ("down", "drained", "fail", "failing", "error", "unknown", "future", "inval", "powered_down", "powering_down", "power_down", "reboot")
LEAVING = ("draining", "drain", "maint", "reserved")
SEE_NODE = "it can still be reached as ssh://{node}; scontrol show node {node} tells more"
SEE_SLURM = "see whether slurmctld and munge answer: scontrol ping"

# what srun and sinfo say -> what it means, what to do; the first that fits
MEANINGS = (
    (r"[Mm]unge|Protocol authentication error", "Slurm's authentication fails: {words}", "see whether munged runs here: munge -n | unmunge"),
    (r"Unable to contact slurm controller|Unable to process configuration|Could not establish a configuration|resolve_ctls",
     "slurmctld cannot be reached: {words}", SEE_SLURM),
    (r"nodes are busy|Resources temporarily unavailable", "{node} has nothing free for a step",
     "look from inside the job that runs there: --jobid JOB, as told by squeue -w {node}"),
    (r"Required node not available", "{node} is down, drained or reserved", SEE_NODE),
    (r"Invalid job id|Expired or invalid job|already completing or completed", "job {job} does not run", "squeue --me lists yours; name one with --jobid"),
    (r"Requested node configuration is not available|not in the job", "{node} is none of the nodes of job {job}", "squeue -j {job} tells its nodes"),
    (r"permission denied|not permitted|Invalid account|Invalid user", "Slurm refuses a step on {node}: {words}", "name a job of your own with --jobid"),
    (r"Invalid node name", "Slurm knows no node {node}", "sinfo --Node lists them"),
)


@dataclass(frozen=True)
class Slurm:
    """Reaches a node through ``srun``."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "slurm"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        stop = time.monotonic() + deadline_s
        state = self.ready_state(min(SINFO_S, deadline_s / 2))
        cancel_s = min(CANCEL_S, PART_TO_CANCEL * deadline_s)
        talk = _Step(self, shipment, (deadline_s, stop - time.monotonic() - cancel_s, state))
        name = f"driftwatch-{shipment.nonce}"
        try:
            yield from converse(self.argv(command(shipment.nonce, shipment.pythons), name, deadline_s), talk, talk.judge)
        finally:
            if not talk.is_over:
                self._cancel(name, cancel_s)

    @property
    def node(self) -> str:
        """Return the node's name."""
        return self.destination.host

    def argv(self, remote: str, name: str, deadline_s: float) -> list[str]:
        """Return srun's command line: a step in the job if there is one, else a new allocation that starts at once or not at all."""
        minutes = math.ceil(deadline_s / 60) + 1
        job = self.options.slurm_job
        where = [f"--jobid={job}", "--overlap"] if job else [f"--immediate={max(1, min(IMMEDIATE_S, int(deadline_s / 2)))}"]
        return ["srun", *where, "--nodes=1", "--ntasks=1", f"--nodelist={self.node}", f"--job-name={name}", f"--time={minutes}", "--export=NONE",
                "--chdir=/", "/bin/sh", "-c", remote]

    def ready_state(self, wait_s: float) -> str:
        """Return the node's state in Slurm's words, where a step may start. LinkLost with Slurm's own reason where it may not, or nobody answers."""
        if shutil.which("sinfo") is None or shutil.which("srun") is None:
            raise LinkLost("there is no srun and sinfo on this machine's PATH", f"run it where Slurm's client is, or write ssh://{self.node}")
        told = ask(["sinfo", "--noheader", "--Node", f"--nodes={self.node}", "--format=%N|%T|%H|%E"], wait_s)
        if told.code is None:
            raise LinkLost(f"sinfo gave no answer in {wait_s:g} s", SEE_SLURM)
        if told.code:
            raise self.meaning(told.complaints, f"sinfo ended with code {told.code}")
        for line in told.said.splitlines():
            name, _, rest = line.strip().partition("|")
            if name == self.node and rest.count("|") >= 2:
                return self._fit(*rest.split("|", 2))
        raise LinkLost(f"Slurm knows no node {self.node}", "sinfo --Node lists them")

    def _fit(self, state: str, since: str, reason: str) -> str:
        """Return a state in which a step may start; LinkLost for any other."""
        word = state.rstrip("*~#!%$@^-+").lower()
        is_away = word in AWAY or (word in LEAVING and not self.options.slurm_job)
        if not is_away and "*" not in state:
            return word
        how = f"{word}, and it does not answer Slurm" if "*" in state else word
        dated = f" since {since}" if since and since != "Unknown" else ""
        why = "" if reason in ("", "none") else f": {visible(reason)}"
        raise LinkLost(f"Slurm lists {self.node} as {how}{dated}{why}", SEE_NODE.format(node=self.node))

    def meaning(self, said: str, otherwise: str) -> LinkLost:
        """Return what a complaint of srun or sinfo means; of an unknown one its last line."""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        terms = {"node": self.node, "job": self.options.slurm_job or "(none)", "words": visible(lines[-1]) if lines else "it said nothing"}
        for pattern, reason, advice in MEANINGS:
            if re.search(pattern, said):
                return LinkLost(reason.format(**terms), advice.format(**terms))
        return LinkLost(f'{otherwise}: "{terms["words"]}"', f"try it by hand: srun --nodelist={self.node} hostname")

    def _cancel(self, name: str, wait_s: float) -> None:
        """Cancel the allocation, or the step in a job, that has this name: at most ``wait_s`` seconds, whether Slurm answers or not."""
        if not self.options.slurm_job:
            ask(["scancel", f"--name={name}"], wait_s)
            return
        told = ask(["squeue", "--noheader", "--steps", "--format=%i|%j"], wait_s / 2)
        steps = [step for step, _, called in (line.strip().partition("|") for line in told.said.splitlines()) if called == name]
        if steps:
            ask(["scancel", *steps], wait_s / 2)


class _Step(Conversation):
    """The conversation with the agent in one step. ``limits``: the whole deadline and what is left of it (seconds), and the node's state before."""

    def __init__(self, way: Slurm, shipment: Shipment, limits: tuple[float, float, str]) -> None:
        super().__init__(shipment, max(0.1, limits[1]))
        self._way, (self._whole_s, _, self._state) = way, limits

    def judge(self, code: int) -> LinkLost:
        """Return what srun's end with this exit code and no end frame means."""
        if self.is_running or self.has_no_python or self._old_pythons:
            return super().lost_at_exit(code)
        return self._way.meaning(self.complaints.decode("utf-8", "replace"), f"srun on {self._way.node} ended with code {code} before an agent could start")

    def lost_at_deadline(self) -> LinkLost:
        """Return what to say when the deadline came first."""
        if self.is_running:
            return super().lost_at_deadline()
        how = f"Slurm lists it as {self._state}, and started no step there{self._quoted()}"
        return LinkLost(f"no answer from an agent on {self._way.node} in {self._whole_s:g} s: {how}",
                        f"its slurmd may hang; {SEE_NODE.format(node=self._way.node)}")
