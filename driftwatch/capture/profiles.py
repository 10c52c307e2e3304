"""The profiles that driftwatch brings: which packages, variables and groups of probes matter where SGLang, vLLM or torch alone serves, or all of it.

A profile only ever adds to what every snapshot holds: two snapshots of different profiles differ in what was looked at, so each carries its profile's name.
Knows nothing of the config file, whose own profiles are laid over these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from driftwatch.capture.plan import Plan, offers, plan_for

DEFAULT = "sglang"
OWN_DEADLINE = "host"
ACTIVE = ("imports", "ask-server")
SERVING = ("torch", "sgl_kernel", "sglang", "flashinfer", "triton", "transformers", "vllm")
VLLM = (*SERVING, "flash_attn", "xformers", "compressed_tensors", "ray", "tvm_ffi")
TORCH = (*SERVING, "torchvision", "torchaudio", "accelerate", "flash_attn", "xformers", "bitsandbytes", "numpy")
TRAINERS = ("ACCELERATE_", "DEEPSPEED_", "DS_", "FSDP_", "MEGATRON_")


@dataclass(frozen=True)
class Choice:
    """What a profile chooses: modules whose own versions are read, prefixes of variables that may be told besides, groups, probes to leave out, seconds."""

    name: str = DEFAULT
    packages: tuple[str, ...] = SERVING
    env_prefixes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    deadlines_s: Mapping[str, float] = field(default_factory=dict)

    def over(self, base: Choice) -> Choice:
        """Return this choice laid over another: what both name is joined, and this one's deadlines win."""
        return Choice(
            self.name, _joined(base.packages, self.packages), _joined(base.env_prefixes, self.env_prefixes), _joined(base.groups, self.groups),
            _joined(base.skip, self.skip), {**base.deadlines_s, **self.deadlines_s},
        )


def built_in() -> dict[str, Choice]:
    """Return the profiles that are always there, by name. ``full`` asks every group that only looks; imports and ask-server act on the host."""
    groups = tuple(sorted({offer.probe.group for offer in offers()} - {"", *ACTIVE}))
    return {
        "sglang": Choice("sglang"),
        "vllm": Choice("vllm", VLLM),
        "torch": Choice("torch", TORCH, TRAINERS),
        "full": Choice("full", _joined(VLLM, TORCH), (*TRAINERS, "KUBERNETES_"), groups, (), {OWN_DEADLINE: 180.0}),
    }


def plan_of(choice: Choice, only: Iterable[str], skip: Iterable[str], groups: Iterable[str], deadlines_s: Mapping[str, float]) -> Plan:
    """Return the plan of a profile and of what was asked for besides. What the profile skips makes no snapshot partial, and ``only`` goes before it."""
    only, skip = tuple(only), tuple(skip)
    standing = set(choice.skip) - set(only) - set(skip)
    deadlines = {name: seconds for name, seconds in {**choice.deadlines_s, **deadlines_s}.items() if name != OWN_DEADLINE}
    plan = plan_for(only, (*skip, *standing), (*choice.groups, *groups), deadlines)
    left_out = {name: (probe, f"not asked: profile {choice.name} skips it" if name in standing else why) for name, (probe, why) in plan.left_out.items()}
    return replace(plan, left_out=left_out, is_partial=bool(only or skip))


def _joined(*lists: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for some in lists for one in some))
