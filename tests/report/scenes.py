"""Made-up but consistent explanations: hosts, names and times are invented, sums and version pairs are those of real releases."""
# ruff: noqa: RUF001  the signs that the report draws are the point here

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import Command, Event, Explanation, NotChecked, RuledOut, Side, Subject, Sum, Suspect, Term
from driftwatch.model import Known, Symptom, Unknown


def side(ref, taken_at, outcome, answered=41, planned=41):
    return Side(ref.partition("@")[0], taken_at, "sha256:" + "ab" * 32, "snapshot", ref, outcome, answered, planned, 6214)


def changed(path, good, bad, **more):
    return Change(path, "changed", Known(good), Known(bad), **more)


def added(path, bad):
    return Change(path, "added", Known(None), Known(bad))


def removed(path, good):
    return Change(path, "removed", Known(good), Known(None))


def explanation(good, bad, word, verdict, **more):
    events = more.get("events", ())
    more.setdefault("changes", tuple(change for event in events for change in event.changes))
    return Explanation(good, bad, more.pop("symptom", None), more.pop("symptom_from", None), word, verdict, **more)


PIP = (
    changed("packages/transformers/version", "5.11.0", "5.12.1"), changed("packages/fastapi/version", "0.136.3", "0.137.1"),
    *(changed(f"packages/package-{number}/version", "1.0", "1.1") for number in range(8)),
    changed("packages/apache-tvm-ffi/location", "/opt/venv/lib", "/opt/venv/lib64", is_folded=True, follows="packages/apache-tvm-ffi/version"),
)

A = explanation(
    side("gpu-a@good", "2026-06-10T06:00:00Z", "ok, 1,842 tok/s"), side("gpu-a@last", "2026-06-16T03:12:00Z", "aborts at start (TP0-TP3)", 40),
    "LIKELY", "apache-tvm-ffi 0.1.11 → 0.1.12, dragged along by the reinstall of 16 June at 02:41Z.",
    symptom=Symptom("startup-crash", "terminate called after throwing an instance of 'tvm::ffi::Error'", "/var/log/sglang/server.log"), symptom_from="log",
    suspects=(
        Suspect(
            Subject("package", "apache-tvm-ffi"), "package", "apache-tvm-ffi", "~", "0.1.11", "0.1.12", 0.91,
            (
                Term("the error's namespace, tvm::ffi, belongs to this wheel (RECORD)", 1.6, ("packages/apache-tvm-ffi/record",)),
                Term("libtvm_ffi.so of this wheel is mapped by all 4 scheduler processes", 0.9, ("servers/sglang/scheduler_TP0/libraries/libtvm_ffi",)),
                Term("nobody asked for it: tilelang needs apache-tvm-ffi without an upper bound", 0.4, ("packages/tilelang/requires",)),
                Term("sglang itself did not move", -0.3, ("packages/sglang/version",)),
            ),
            carrier="reinstall of 16 June 02:41Z",
            commands=(
                Command("confirm", "grep -ho '/.*libtvm_ffi.so' /proc/[0-9]*/maps | sort | uniq -c", "which one the server really loads"),
                Command("try", "/opt/venv/bin/pip install --no-deps apache-tvm-ffi==0.1.11", "then start the server"),
                Command("undo", "/opt/venv/bin/pip install --no-deps apache-tvm-ffi==0.1.12"),
            ),
        ),
    ),
    ruled_out=(RuledOut(Subject("package", "sgl-kernel"), "0.3.21, same RECORD digest and same location on both sides", ("packages/sgl-kernel/version",)),),
    events=(Event("pip, 16 June 02:41Z", PIP),),
)

B = explanation(
    side("gpu-a@good", "2026-02-26T14:05:00Z", "serving, 89.5 tok/s"),
    side("gpu-a@last", "2026-02-27T03:12:09Z", "RuntimeError: Not enough memory (TP0-TP7)", 40),
    "LIKELY", "--mem-fraction-static 0.85 → 0.55 leaves no room for the KV cache. With this model on these GPUs it must be above 0.769.",
    symptom=Symptom("oom", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "/var/log/sglang/server.log"), symptom_from="log",
    suspects=(
        Suspect(
            Subject("launch-arg", "mem_fraction_static"), "launch argument", "--mem-fraction-static", "~", 0.85, 0.55, 0.93,
            (
                Term("SGLang's own sum, all numbers read from the two server logs; free memory is the least of 8 ranks", 2.1, ("servers/sglang/log/tokens",)),
                Term("free before load (94.00) and after load (21.70) are equal on both sides: nothing leaked, nobody else holds memory", 0.7, ()),
                Term("the error text names this argument", 0.8, ("servers/sglang/log/error",)),
            ),
            commands=(
                Command("confirm", "driftwatch memory gpu-a@last --mem-fraction-static 0.85"),
                Command("try", "systemctl edit sglang   # --mem-fraction-static 0.85", "restarts the server"),
            ),
            sum=Sum(
                "after load − before load × (1 − fraction), GiB free; zero at 0.769",
                (("good  21.70 − 94.00 × (1 − 0.85)", "+7.60", "for the KV cache"), ("bad   21.70 − 94.00 × (1 − 0.55)", "−20.60", "short")),
            ),
        ),
    ),
    ruled_out=(
        RuledOut(Subject("git", "sglang"), "commit 4e1b0a7, clean; model_runner_kv_cache_mixin.py was touched at 02:31Z but is byte for byte the same"),
        RuledOut(Subject("gpu-process", "others"), "none before launch on any of 8 GPUs"),
        RuledOut(Subject("package", "torch"), "2.9.1 on both sides, same RECORD digest"),
        RuledOut(Subject("env-var", "NCCL_P2P_DISABLE"), "unset on both sides"),
    ),
    not_checked=(
        NotChecked(
            Subject("package", "sgl-kernel"), "timeout", "bad",
            "/opt/venv/lib/python3.12/site-packages/sgl_kernel/version.py: no answer in 15 s",
            "driftwatch snapshot gpu-a --only packages --deadline packages=60", matters=False,
            detail="told before: 212 facts",
        ),
    ),
    events=(Event("launch arguments without effect on memory", (changed("servers/sglang/given/log_level", "info", "debug"),)),),
)

C = explanation(
    side("gpu-b@good", "2026-03-09T18:00:00Z", "serving, 2,310 tok/s"), side("gpu-b@last", "2026-03-10T07:55:00Z", "NVML: Driver/library version mismatch"),
    "LIKELY",
    "Nothing changed between the two snapshots, but a pair disagrees inside gpu-b: kernel module 550.90.07 is loaded, library 550.107.02 is on disk.",
    suspects=(
        Suspect(
            Subject("driver", "nvidia"), "driver", "module against library", "!", "550.90.07 loaded", "550.107.02 on disk", 0.95,
            (
                Term("NVML answers 18, driver/library mismatch; the error text says the same", 2.0, ("nvml/error",)),
                Term("the module on disk is 550.107.02 too: only a reload or a reboot is missing", 0.5, ("driver/on_disk/version",)),
                Term("why the good server could still start is not known", 0.0, ()),
            ),
            is_one_host=True,
            commands=(
                Command("confirm", "cat /sys/module/nvidia/version; readlink -f /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
                Command("try", "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia", "as root, with no GPU process left; or reboot"),
            ),
        ),
    ),
    ruled_out=(RuledOut(Subject("kernel", "kernel"), "6.8.0-51, same boot on both sides"),),
)

D = explanation(
    side("gpu-c@good", "2026-04-01T22:00:00Z", "serving, 1,190 tok/s"), side("gpu-c@last", "2026-04-02T02:20:00Z", 'hangs at "Load weight begin"', 39),
    "UNKNOWN", "No recorded fact changed. 2 of 41 probes never answered: nvml, and the mount /models, on which the server hangs too.",
    suspects=(
        Suspect(
            Subject("mount", "/models"), "mount", "/models (fuse.sshfs) does not answer", "?", None, None, 0.62,
            (
                Term("stat /models: no answer in 5 s; child in state D, wchan request_wait_answer, survived SIGKILL", 1.0, ()),
                Term("NVML may only be waiting for those threads to let go of the GPU", 0.0, ()),
            ),
            commands=(
                Command("confirm", "cat /sys/fs/fuse/connections/*/waiting", "above 0 and not falling: the file system owes answers"),
                Command("try", "umount -l /models && mount /models", "as root; the stuck readers stay until the old connection is aborted"),
            ),
        ),
    ),
    ruled_out=(RuledOut(Subject("pcie-link", "all"), "8 of 8 at 32 GT/s x16, read from /sys"),),
    not_checked=(
        NotChecked(Subject("mount", "/srv/models"), "denied", "both", "/srv/models: Permission denied (uid 1000)", matters=False),
        NotChecked(
            Subject("probe", "nvml"), "timeout", "bad",
            "timeout after 20 s: nvmlInitWithFlags did not return", "driftwatch snapshot gpu-c --only nvml --deadline nvml=120",
            detail="pid 51877 left behind in state D, rwsem_down_read_slowpath; told before: 3 facts",
        ),
    ),
)

IMAGE = (
    changed("packages/sglang/version", "0.5.9", "0.5.12"), changed("packages/torch/version", "2.9.1", "2.10.0"),
    removed("packages/sgl-kernel/version", "0.3.21"), added("packages/sglang-kernel/version", "0.4.2.post2"),
    Change("packages/flashinfer/version", "unknown", Known("0.6.1"), Unknown("timeout", "packages: 10 s")),
    *(changed(f"packages/package-{number}/version", "1.0", "1.1") for number in range(609)),
)

E = explanation(
    side("gpu-d@good", "2026-05-20T12:00:00Z", "serving, 3,020 tok/s"), side("gpu-d@last", "2026-05-27T09:30:00Z", "RuntimeError: Not enough memory"),
    "SEVERAL", "The image was swapped (618 differences, 1 event). 2 of them touch GPU memory before the first request; start with the first.",
    suspects=(
        Suspect(
            Subject("launch-arg", "mem_fraction_static"), "launch argument (default)", "mem_fraction_static, resolved", "~", 0.848, 0.833, 0.82,
            (Term("not given on the command line; sglang 0.5.12 reserves 1,536 MiB more for piecewise graphs", 1.2, ("servers/sglang/args",)),),
            commands=(Command("confirm", "driftwatch memory gpu-d@last --mem-fraction-static 0.848"),),
            sum=Sum(
                "after load − before load × (1 − fraction), GiB free; zero at 0.841",
                (("good  15.02 − 94.50 × (1 − 0.848)", "+0.66", "for the KV cache"), ("bad   15.02 − 94.50 × (1 − 0.833)", "−0.76", "short")),
            ),
        ),
        Suspect(
            Subject("package", "sgl-kernel"), "package", "sgl-kernel is now called sglang-kernel", "~", "0.3.21", "0.4.2.post2", 0.31,
            (
                Term("loads other code on the GPU before the pool is sized", 0.4, ("packages/sglang-kernel/version",)),
                Term("free memory after load is the same to 0.01 GiB on both sides", -0.9, ("servers/sglang/log/free_after_load_gib",)),
            ),
        ),
    ),
    ruled_out=(RuledOut(Subject("driver", "nvidia"), "580.95.05: outside the image, equal"),),
    events=(
        Event("image lmsysorg/sglang v0.5.9 → v0.5.12 (sha256 1f0a…77 → 9c2e…d1), container started 27 May 09:21Z", IMAGE),
        Event("added to the container after it started: pip, 27 May 09:24Z", (
            added("packages/py-spy/version", "0.4.1"), changed("packages/psutil/version", "7.0.0", "7.2.0"),
        )),
        Event("on the host, outside the image", (
            changed("nccl/conf/sha256", "sha256:" + "a1" * 32, "sha256:" + "5b" * 32), changed("kernel/vm.max_map_count", 65530, 262144),
        )),
    ),
    standing_gaps=(
        ("servers, 8 facts: denied on both sides (/proc/4127/environ: Permission denied (uid 1000))", "driftwatch snapshot root@gpu-d --only servers"),
        ("system: denied on both sides", "driftwatch snapshot root@gpu-d --only system"),
    ),
    doubts=("no request was served in the good run", "its log ends in an error too"),
)

SAME = explanation(
    side("gpu-a@good", "2026-02-26T14:05:00Z", ""), side("./exports/gpu-a.json", None, ""), "SAME",
    "41 of 41 probes, 6,214 facts, no difference. Not looked at: model files' content, the requests, the network beyond this host.",
)

SCENES = {"a": A, "b": B, "c": C, "d": D, "e": E, "same": SAME}
