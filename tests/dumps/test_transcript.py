import pytest

from driftwatch.dumps.read import read_dump
from driftwatch.dumps.transcript import FORMAT
from driftwatch.model import Known, Unknown
from tests.dumps.reading import facts, is_unknown, parsed, stretches

PROMPT = "root@gpu-7:/opt/sglang# "
SHA = "3c1f0e" + "ab" * 29
MMA = "nvidia_cutlass_dsl%2Fcute%2Fmma.py"


def told(command, *output, after="$ true"):
    return facts(FORMAT, "\n".join([f"$ {command}", *output, after, ""]))


def test_a_listing_and_a_digest_of_one_file_have_one_path_whatever_the_home():
    found = told(
        "ls -l --time-style=long-iso ~/.config/vllm/nccl/cu12/; sha256sum ~/.config/vllm/nccl/cu12/libnccl.so.2.18.1",
        "total 96264", "-rw-r--r-- 1 root root 98566144 2024-04-12 08:11 libnccl.so.2.18.1", f"{SHA}  /root/.config/vllm/nccl/cu12/libnccl.so.2.18.1")
    top = "files/~%2F.config%2Fvllm%2Fnccl%2Fcu12%2Flibnccl.so.2.18.1"
    assert (found[f"{top}/bytes"], found[f"{top}/sha256"]) == (98566144, SHA)


def test_a_package_is_read_below_the_whole_heading_of_dpkg():
    text = f"""$ dpkg -l libnccl2
Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
||/ Name           Version              Architecture Description
+++-==============-====================-============-{"=" * 36}
ii  libnccl2       2.6.4-1+cuda10.1     amd64        NVIDIA Collective Communication Library (NCCL) Runtime
$ true
"""
    assert {path: value for path, value in read_dump(text, "x").facts.items() if not is_unknown(value)} == {"os_packages/libnccl2/version": "2.6.4-1+cuda10.1"}


def test_rounded_sizes_are_told_as_texts():
    assert told("ls -lh /data", "-rw-r--r-- 1 a b 1.2G Apr 12 08:11 x.bin")["files/%2Fdata%2Fx.bin/size"] == "1.2G"


def test_links_and_folders_are_told_apart():
    found = told("ls -l /opt", "lrwxrwxrwx 1 root root 9 2024-01-01 00:00 cuda -> cuda-12.4", "drwxr-xr-x 2 root root 4096 2024-01-01 00:00 cuda-12.4")
    assert found["files/%2Fopt%2Fcuda/link"] == "cuda-12.4"
    assert found["folders/%2Fopt%2Fcuda-12.4/path"] == "/opt/cuda-12.4"


def test_a_known_cache_is_told_by_its_name():
    found = told("ls -ld --time-style=long-iso ~/.triton/cache; ls ~/.triton/cache | wc -l",
                 "drwxrwxr-x 1190 user user 69632 2026-05-05 21:40 /home/user/.triton/cache", "1188")
    assert (found["caches/triton/path"], found["caches/triton/entries"]) == ("~/.triton/cache", 1188)


def test_the_ends_of_sorted_dates_are_the_oldest_and_the_newest():
    found = told("find ~/.triton/cache -type f -printf '%TY-%Tm-%Td\\n' | sort | sed -n '1p;$p'", "2026-01-19", "2026-05-05")
    assert (found["caches/triton/oldest"], found["caches/triton/newest"]) == ("2026-01-19", "2026-05-05")


def test_a_head_of_dates_tells_no_newest():
    assert "caches/triton/newest" not in told("find ~/.triton/cache -printf '%TY-%Tm-%Td\\n' | sort | head -2", "2026-01-19", "2026-01-20")


def test_a_format_of_find_and_of_stat_is_read_by_its_own_words():
    assert told("find /m -printf '%s %p\\n'", "12 /m/a b.safetensors")["files/%2Fm%2Fa b.safetensors/bytes"] == 12
    assert told("stat -c '%n %s' /m/x", "/m/x 77")["files/%2Fm%2Fx/bytes"] == 77


def test_stat_tells_size_mode_and_time():
    found = told("stat /etc/nccl.conf", "  File: /etc/nccl.conf", "  Size: 31        \tBlocks: 8          IO Block: 4096   regular file",
                 "Device: 802h/2050d\tInode: 1", "Access: (0644/-rw-r--r--)  Uid: (    0/    root)", "Modify: 2026-01-02 03:04:05.000000000 +0000")
    assert found == {"files/%2Fetc%2Fnccl.conf/bytes": 31, "files/%2Fetc%2Fnccl.conf/mode": "0644", "files/%2Fetc%2Fnccl.conf/exists": True,
                     "files/%2Fetc%2Fnccl.conf/modified": "2026-01-02 03:04:05.000000000 +0000"}


def test_counted_lines_are_told_by_file():
    assert told("wc -l a.txt b.txt", "  12 a.txt", "   3 b.txt", "  15 total") == {"files/a.txt/lines": 12, "files/b.txt/lines": 3}


def test_a_status_and_a_log_are_told_as_the_git_collector_tells_them():
    found = told("git -C /sgl-workspace/sglang log -1 --format='%H %cI'; git -C /sgl-workspace/sglang status --porcelain",
                 "a" * 40 + " 2026-05-17T10:00:00+02:00", " M python/sglang/a.py", "?? notes.txt")
    assert (found["git/sglang/head"], found["git/sglang/committed_at"], found["git/sglang/dirty"]) == ("a" * 40, "2026-05-17T08:00:00Z", True)
    assert found["git/sglang/files/notes.txt"]["status"] == "??"


def test_a_status_that_printed_nothing_is_clean_only_where_another_prompt_follows():
    assert told("git -C /w/aiter status --porcelain")["git/aiter/dirty"] is False
    assert "git/aiter/dirty" not in facts(FORMAT, "$ git -C /w/aiter status --porcelain\n")


def test_a_whole_status_tells_of_all_files():
    (part,) = parsed(FORMAT, "$ git -C /w/aiter status -s\n$ true\n")
    assert part.tells == ("git/aiter/files/*",)


def test_a_long_status_tells_branch_distance_and_files():
    found = facts(FORMAT, PROMPT + "git status\nOn branch main\nYour branch is ahead of 'origin/main' by 2 commits.\n\nChanges not staged for commit:\n"
                  '  (use "git add <file>..." to update what will be committed)\n\tmodified:   python/x.py\n\nUntracked files:\n  (use "git add")\n\tnew.py\n\n'
                  'no changes added to commit (use "git add")\n' + PROMPT + "true\n")
    assert (found["git/sglang/branch"], found["git/sglang/ahead"], found["git/sglang/behind"]) == ("main", 2, 0)
    assert {path: found[path]["status"] for path in found if "/files/" in path} == {"git/sglang/files/python%2Fx.py": ".M", "git/sglang/files/new.py": "??"}


def test_the_log_of_another_branch_is_no_head():
    assert "git/repository/head" not in told("git log origin/main --oneline -1", "abc1234 a commit")


def test_a_remote_loses_its_password():
    assert told("git remote -v", "origin\thttps://me:secret@git.example/x.git (fetch)")["git/repository/remotes/origin"] == "https://git.example/x.git"


def test_exact_room_is_bytes_and_rounded_room_a_text():
    head = "Filesystem     1K-blocks  Used Available Use% Mounted on"
    assert told("df", head, "shm  65536 4 65532 1% /dev/shm")["shm/size_bytes"] == 65536 * 1024
    rounded = told("df -h", "Filesystem      Size  Used Avail Use% Mounted on", "/dev/nvme0n1p2  1.8T  1.2T  500G  71% /")
    assert (rounded["disks/%2F/size"], rounded["mounts/%2F/source"]) == ("1.8T", "/dev/nvme0n1p2")
    assert "disks/%2F/size_bytes" not in rounded


def test_limits_are_numbers_in_bytes_or_unlimited():
    found = told("ulimit -a", "core file size          (blocks, -c) 0", "max locked memory       (kbytes, -l) 64", "open files                      (-n) 1024",
                 "stack size              (kbytes, -s) unlimited")
    assert found == {"limits/locked_memory_bytes/soft": 65536, "limits/open_files/soft": 1024, "limits/stack_size_bytes/soft": "unlimited"}
    assert told("ulimit -n", "1048576") == {"limits/open_files/soft": 1048576}


def test_the_build_number_of_uname_is_no_version():
    line = "Linux box 6.5.0-1027-oem #28-Ubuntu SMP PREEMPT_DYNAMIC Thu Jul 25 13:32:46 UTC 2024 x86_64 GNU/Linux"
    assert told("uname -a", line) == {"kernel/release": "6.5.0-1027-oem"}


def test_dmesg_is_counted_by_class():
    found = told("dmesg | grep -i xid", "[ 1843.308145] NVRM: Xid (PCI:0000:0b:00): 79, pid=11431, GPU has fallen off the bus.")
    assert found["kernel_log/xid"]["count"] == 1


def test_printed_expressions_are_told_by_the_common_paths():
    found = told("python -c 'import torch; print(torch.__version__); print(torch.version.cuda); print(torch._C._GLIBCXX_USE_CXX11_ABI)'",
                 "2.6.0+cu124", "12.4", "False")
    assert found == {"torch/version": "2.6.0+cu124", "torch/cuda": "12.4", "transcript/python/torch._C._GLIBCXX_USE_CXX11_ABI": "False"}


def test_an_interactive_session_is_read():
    assert facts(FORMAT, ">>> import sgl_kernel\n>>> sgl_kernel.__version__\n'0.3.17'\n") == {"packages/sgl-kernel/imported_version": "0.3.17"}


def test_a_traceback_is_no_printed_value():
    found = told('python -c "import torch; print(torch.__version__)"', "Traceback (most recent call last):", '  File "<string>", line 1')
    assert "torch/version" not in found


def test_a_file_that_two_records_name_is_told_as_the_collectors_tell_it():
    disk, other = "yRcZZKWko3FxYxQop-OHHNVnl1Vyn7p0DwrkdeXG8yk", "T8iJjTYINVx5TKPJ0UsqcEpcYgQaQCvcOogVlPZgCoI"
    (part,) = parsed(FORMAT, "\n".join([
        "$ python - <<'PY'  # who owns it", "nvidia_cutlass_dsl/cute/mma.py", f"  on disk             sha256={disk} size=13904",
        f"  RECORD libs-base 4.5.0 sha256={other} size=15232", f"  RECORD libs-cu13 4.5.0 sha256={disk} size=13904", ""]))
    assert part.facts[f"packages/libs-base/altered/{MMA}"]["recorded_size"] == 15232
    assert part.facts[f"python/owned_twice/{MMA}"] == {"by": ["libs-base", "libs-cu13"], "bytes_of": ["libs-cu13"]}
    assert f"packages/libs-cu13/altered/{MMA}" in part.tells
    assert f"packages/libs-cu13/altered/{MMA}" not in part.facts


def test_pip_show_tells_a_version():
    assert told("pip show flash-attn | head -2", "Name: flash-attn", "Version: 2.7.4.post1") == {"packages/flash-attn/version": "2.7.4.post1"}


def test_the_lines_of_an_unknown_command_are_kept_by_their_keys():
    found = told("ibstatx mlx5_0", "CA type: MT4129", "Port 1:", "\tState: Active", "\tRate: 400", "all good", after="")
    assert found == {"transcript/ibstatx mlx5_0/CA type": "MT4129", "transcript/ibstatx mlx5_0/Port 1/State": "Active",
                     "transcript/ibstatx mlx5_0/Port 1/Rate": "400", "transcript/ibstatx mlx5_0/all good": True}


def test_what_only_tells_the_time_stands_in_nobodys_way_and_is_no_fact():
    found = told("ssh gpu-3 'uptime -p; cat /proc/driver/nvidia/version | head -1'", "up 6 weeks, 4 days",
                 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build")
    assert found == {"driver/module/version": "580.126.09", "driver/module/flavour": "open"}


def test_a_listing_with_times_of_its_own_form_is_read():
    found = told("ls -l --time-style=+%F_%H:%M /c/fused_adam", "total 8", "-rw-r--r-- 1 u u 0 2024-02-05_22:41 lock")
    assert found["files/%2Fc%2Ffused_adam%2Flock/bytes"] == 0


def test_a_command_at_the_start_of_a_fence_needs_no_prompt():
    text = "It broke.\n```bash\ndocker info|grep -i runtime\n Runtimes: io.containerd.runc.v2 runc\n Default Runtime: runc\n```\n"
    assert facts(FORMAT, text) == {"container_runtime/runtimes": ["io.containerd.runc.v2", "runc"], "container_runtime/default": "runc"}


def test_a_command_without_output_in_a_list_of_commands_tells_nothing():
    assert facts(FORMAT, "```\npip list\nnvcc --version\nnvidia-smi # get the CUDA version\n```\n") == {}


def test_headings_comments_and_prices_are_no_commands():
    assert stretches(FORMAT, "# packages in environment at /opt\n# Name  Version\n## Environment\nIt costs $ 5 a day\n> quoted\n")[0] == []


def test_the_host_of_the_prompt_is_the_host_and_a_container_id_is_none():
    assert [part.host for part in parsed(FORMAT, PROMPT + "uname -r\n6.8.0-40-generic\n")] == ["gpu-7"]
    assert [part.host for part in parsed(FORMAT, "root@3fa9c1d2e4b5:/# uname -r\n6.8.0-40-generic\n")] == [None]


def test_prose_below_a_known_command_is_left_alone():
    (one,), _ = stretches(FORMAT, "$ uname -r\n6.8.0-40-generic\nSo I tried another kernel.\n")
    assert (one.first, one.after) == (0, 2)


def test_a_table_below_its_command_is_left_to_its_own_format():
    snapshot = read_dump("$ uname -r\n6.8.0-40-generic\n$ pip list\nPackage Version\n------- -------\nnumpy   2.3.5\ntorch   2.9.1\n", "paste")
    assert (snapshot.facts["kernel/release"], snapshot.facts["packages/torch/version"]) == ("6.8.0-40-generic", "2.9.1")


def test_a_variable_that_is_secret_is_masked():
    snapshot = read_dump("$ echo $HF_TOKEN\nhf_abcdefghijklmnopqrstuvwxyz0123456789\n$ uname -r\n6.8.0-40-generic\n", "paste")
    assert "hf_abc" not in str(snapshot.facts)


def test_an_unbalanced_quote_and_a_deep_program_end_in_nothing():
    assert facts(FORMAT, "$ echo 'a\nx: 1\n$ python -c '" + "(" * 3000 + "'\n1\n") is not None


def test_a_refused_class_stays_open():
    assert not any(is_unknown(value) for value in told("dmesg", "dmesg: read kernel buffer failed: Operation not permitted").values())


def test_sentences_below_an_unknown_command_are_no_facts():
    sentences = ("Tags tried: latest, v0.4.1, and v0.2.7.", "Inside of a vllm/vllm-openai:latest pod:", "Copy and paste the text below in your issue")
    found = told("kubectl exec pod -- report", *sentences, "shape: 3")
    assert found == {"transcript/report/shape": "3"}


def test_a_heading_of_several_words_keeps_what_stands_below_it_apart():
    found = told("tool show", "Clock events of device:", "    idle: yes", "Clock limits of device:", "    idle: no")
    assert found == {"transcript/tool show/Clock events of device/idle": "yes", "transcript/tool show/Clock limits of device/idle": "no"}


def test_the_progress_of_an_installer_is_no_fact():
    assert told("pip install deepspeed", "Collecting deepspeed", "  Using cached deepspeed-0.14.0.tar.gz (1.3 MB)", "  Preparing metadata: done") == {}


def test_the_names_of_a_hosts_file_and_a_resolver_are_told_as_the_collector_tells_them():
    found = told("cat /etc/hosts", "127.0.0.1 localhost", "# made", "10.0.0.7\tgpu-7.example gpu-7")
    assert (found["names/hosts/localhost"], found["names/hosts/gpu-7"]) == (["127.0.0.1"], ["10.0.0.7"])
    found = told("cat /etc/resolv.conf", "nameserver 10.0.0.2", "options ndots:5")
    assert {path: value for path, value in found.items() if path.startswith("names/")} == {"names/servers": ["10.0.0.2"], "names/options": ["ndots:5"]}


def test_commands_of_one_line_are_told_each_by_its_own_lines():
    found = told("id -un; ls -ld --time-style=long-iso /tmp/x-cache", "serve", "drwxr-xr-x 2 batch batch 4096 2025-08-24 22:47 /tmp/x-cache")
    assert (found["transcript/id -un/answer"], found["folders/%2Ftmp%2Fx-cache/owner"]) == ("serve", "batch:batch")


def test_a_list_of_names_is_whole_where_another_command_s_lines_begin():
    text = "$ ls /etc/ld.so.conf.d; ldconfig -p | grep -m1 libcuda.so.1\nlibc.conf\nnvidia.conf\n\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1\n"
    snapshot = read_dump(text, "x")
    assert snapshot.facts["loader/picks/libcuda.so.1"] == "/usr/lib/libcuda.so.1"
    assert snapshot.facts["files/%2Fetc%2Fld.so.conf.d%2Fnvidia.conf/exists"] is True
    assert snapshot.get("files/%2Fetc%2Fld.so.conf.d%2F00-cuda-compat.conf/exists") == Known(None)


def test_folders_of_the_place_where_one_stands_are_told_and_further_ones_are_not_known():
    snapshot = read_dump("$ pwd; ls -d */\n/workspace\nbenchmarks/\nvllm/\n", "x")
    assert (snapshot.facts["transcript/pwd/answer"], snapshot.facts["files/.%2Fvllm/exists"]) == ("/workspace", True)
    assert isinstance(snapshot.get("files/.%2Fother/exists"), Unknown)


def test_the_file_system_of_a_path_is_told_without_a_heading():
    found = told("df --output=fstype,target ~/.cache/outlines | tail -1", "nfs4   /root/.cache")
    assert (found["files/~%2F.cache%2Foutlines/file_system"], found["mounts/%2Froot%2F.cache/type"]) == ("nfs4 at /root/.cache", "nfs4")


def test_submodules_are_told_with_what_the_tree_asks_for():
    lines = (f"+{'d' * 40} 3rdparty/cutlass (v4.4.2)", f" {'2' * 40} 3rdparty/spdlog (v1.15.1)")
    found = told("git -C /flashinfer submodule status", *lines)
    assert {path: value for path, value in found.items() if "submodules" in path} == {
        "git/flashinfer/submodules/3rdparty%2Fcutlass": "dddddddddddd (v4.4.2), not the one that the tree asks for",
        "git/flashinfer/submodules/3rdparty%2Fspdlog": "222222222222 (v1.15.1)",
    }
    assert "git/flashinfer/dirty" not in found


def test_the_environment_and_the_start_of_a_process_are_told_and_what_was_asked_for_and_is_not_there_is_absent():
    text = """$ tr '\\0' '\\n' < /proc/1/environ | grep -E '^(SGLANG|NCCL)' | sort; tr '\\0' ' ' < /proc/1/cmdline; echo
NCCL_DEBUG=WARN
SGLANG_VLM_CACHE_SIZE_MB=512
python3 -m sglang.launch_server --model-path m --tp 4
"""
    snapshot = read_dump(text, "x")
    assert (snapshot.facts["env/NCCL_DEBUG"], snapshot.facts["servers/sglang/args/tp_size"]) == ("WARN", 4)
    assert snapshot.get("env/SGLANG_USE_CUDA_IPC_TRANSPORT") == Known(None)
    assert isinstance(snapshot.get("env/CUDA_VISIBLE_DEVICES"), Unknown)


@pytest.mark.parametrize("which", ["$(pgrep -of 'vllm serve')", "`pgrep -f vllm`", "$PID", "${PID}"])
def test_a_process_that_another_command_gives_is_one_too(which):
    found = told(f"tr '\\0' ' ' < /proc/{which}/cmdline", "/opt/venv/bin/vllm serve m --tensor-parallel-size 2 --disable-cascade-attn")
    assert (found["servers/vllm/args/tensor_parallel_size"], found["servers/vllm/args/disable_cascade_attn"]) == (2, True)


def test_a_unit_of_which_a_filter_left_the_start_is_read():
    lines = ("ExecStart=/opt/vllm/bin/vllm serve m \\", "    --attention-backend FLASHINFER", "Restart=on-failure")
    found = told("systemctl cat vllm.service | grep -A4 ExecStart", *lines)
    assert (found["servers/vllm/args/attention_backend"], found["services/vllm/unit/Restart"]) == ("FLASHINFER", "on-failure")


def test_what_an_object_needs_is_told():
    rows = [f" 0x0000000000000001 (NEEDED)             Shared library: [{name}.so.12]" for name in ("libnvrtc", "libcudart")]
    found = told("readelf -d sgl_kernel/common_ops.abi3.so | grep NEEDED", *rows)
    assert found["files/sgl_kernel%2Fcommon_ops.abi3.so/needs"] == ["libcudart.so.12", "libnvrtc.so.12"]


def test_what_find_looked_for_by_name_and_did_not_find_is_absent():
    text = "$ find /models/a/.cache -name '*.lock' -printf '%TY-%Tm-%Td %s %P\\n' | sort\n$ date +%F\n2026-08-26\n"
    snapshot = read_dump(text, "x")
    assert snapshot.get("files/%2Fmodels%2Fa%2F.cache%2F.gitignore.lock/bytes") == Known(None)
    assert isinstance(snapshot.get("files/%2Fmodels%2Fa%2F.cache%2Fother/bytes"), Unknown)
    found = told("find /models/a/.cache -name '*.lock' -printf '%s %P\\n'", "0 .gitignore.lock")
    assert found["files/%2Fmodels%2Fa%2F.cache%2F.gitignore.lock/bytes"] == 0


ROWS = tuple(f"-rw-r--r-- 1 r r 601 2024-05-22 19:12 {name}.json" for name in ("config", "params", "tokenizer"))


def test_a_sorted_listing_tells_up_to_which_name_it_shows_all():
    assert told("ls -l --time-style=long-iso /models/m", *ROWS)["folders/%2Fmodels%2Fm/listed_to"] == "tokenizer.json"
    for command, rows in (("ls -lt /models/m", ROWS), ("ls -l /models/m/*.json", ROWS), ("ls -l /models/m | grep json", ROWS), ("ls -l /models/m", ROWS[::-1])):
        assert "folders/%2Fmodels%2Fm/listed_to" not in told(command, *rows)


@pytest.mark.parametrize(("command", "output", "path", "value"), [
    ("cat /etc/conf.env", ["mode: fast"], "transcript/cat %2Fetc%2Fconf.env/mode", "fast"),
    ("rocm-smi --showthing", ["GPU[0]  : Thing: on"], "transcript/rocm-smi/GPU[0]", "Thing: on"),
])
def test_output_that_the_format_of_its_command_does_not_know_is_kept_by_its_lines(command, output, path, value):
    assert read_dump("\n".join([f"$ {command}", *output, "$ true", ""]), "x").facts.get(path) == value


def test_output_that_another_format_reads_is_kept_by_that_alone():
    text = "$ pip list\nPackage Version\n------- -------\ntorch   2.6.0\nnumpy   2.2.0\n$ true\n"
    assert not [path for path in read_dump(text, "x").facts if path.startswith("transcript/")]


def test_what_a_server_prints_behind_its_launch_is_a_log_and_never_kept_by_its_lines():
    text = "$ python3 -m sglang.launch_server --model-path m\nLoading: slowly\n$ true\n"
    assert not [path for path in read_dump(text, "x").facts if path.startswith("transcript/")]


@pytest.mark.parametrize(("folder", "top"), [
    ("~/.cache/flashinfer/0.6.13/120f/ops", "folders/~%2F.cache%2Fflashinfer%2F0.6.13%2F120f%2Fops"), ("~/.triton/cache", "caches/triton"),
])
def test_files_of_a_compile_cache_tell_its_age_also_where_each_is_named(folder, top):
    found = told(f"find {folder} -name '*.so' -printf '%TY-%Tm-%Td %TH:%TM %f\\n' | sort", "2026-07-21 16:08 page.so", "2026-07-21 16:09 single.so")
    assert (found[f"{top}/oldest"], found[f"{top}/newest"], found[f"{top}/path"]) == ("2026-07-21 16:08", "2026-07-21 16:09", folder)
    assert found["files/page.so/modified"] == "2026-07-21 16:08"


def test_files_of_a_cache_of_downloads_tell_no_age_of_it():
    found = told("find ~/.cache/huggingface/hub -printf '%TY-%Tm-%Td %p\\n'", "2026-07-21 /root/.cache/huggingface/hub/a")
    assert not [path for path in found if path.endswith("/oldest")]


def test_output_of_an_unknown_command_before_a_known_one_of_the_same_line_is_passed_by():
    found = told("cat ~/m/refs/main; cd ~/m && sha256sum config.json", "3865e12a", f"{SHA}  config.json")
    assert (found["files/config.json/sha256"], found["transcript/cat ~%2Fm%2Frefs%2Fmain/3865e12a"]) == (SHA, True)


def test_a_sorted_listing_by_a_pattern_tells_how_far_it_shows_all():
    row = "lrwxrwxrwx 1 root root 12 Apr  1 08:12 /usr/lib/{} -> x"
    found = told("ls -l /usr/lib/libcuda.so*", row.format("libcuda.so.1"), row.format("libcuda.so.535"))
    assert found["folders/%2Fusr%2Flib%2Flibcuda.so*/listed_to"] == "libcuda.so.535"


@pytest.mark.parametrize(("command", "listed"), [
    ("dpkg-query -W -f '${Package} ${Version}\\n' | grep -E 'ibverbs|curl'", ("libibverbs1", [["ibverbs", "curl"]])),
    ("dpkg-query -W", ("libibverbs1", [])), ("dpkg-query -W | grep -E 'g\\+\\+|-dev|libc6.dev'", ("libibverbs1", [["g++", "-dev", "libc6.dev"]])),
    ("rpm -qa", (None, None)), ("dpkg -l", (None, None)),
    ("dpkg-query -W | grep -i LIB", ("libibverbs1", [["lib"]])), ("dpkg-query -W | grep CUR", ("libibverbs1", [["CUR"]])),
    ("dpkg-query -W | grep -v lib", (None, None)), ("dpkg-query -W | head -2", (None, None)), ("dpkg-query -W curl libibverbs1", (None, None)),
])
def test_a_list_of_packages_in_order_tells_how_far_it_shows_all(command, listed):
    rows = "curl 7.81.0-1", "libibverbs1 39.0-1"
    open_end = facts(FORMAT, "\n".join([f"$ {command}", *rows, ""]))
    assert (open_end.get("os_packages_listed/to"), open_end.get("os_packages_listed/like")) == listed
    assert told(command, *rows).get("os_packages_listed/to") == (listed[0] and "~")


def test_variables_behind_another_commands_answer_are_read():
    facts = read_dump("$ id -u; env | grep -E 'NCCL|VLLM'\n1000\nNCCL_DEBUG=INFO\nVLLM_USE_V1=1\n$ true\n", "x").facts
    assert (facts["transcript/id -u/answer"], facts["env/NCCL_DEBUG"], facts["env/VLLM_USE_V1"]) == ("1000", "INFO", "1")


def test_a_known_answer_before_the_output_of_another_format_is_read():
    compiler = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n"
    facts = read_dump(f"$ uname -r; nvcc --version\n5.15.0-100-generic\n{compiler}$ true\n", "x").facts
    assert (facts["kernel/release"], facts["cuda/nvcc"]) == ("5.15.0-100-generic", "12.4.131")


@pytest.mark.parametrize(("rows", "entries"), [(["total 0"], 0), (["total 4", "drwxr-xr-x 2 a a 4096 2026-08-27 21:16 page"], 1)])
def test_a_listing_that_ended_counts_what_a_folder_holds(rows, entries):
    command = "ls -l --time-style=long-iso ~/.cache/x/ops/"
    assert told(command, *rows)["folders/~%2F.cache%2Fx%2Fops/entries"] == entries
    assert "folders/~%2F.cache%2Fx%2Fops/entries" not in facts(FORMAT, "\n".join([f"$ {command}", *rows, ""]))


def test_names_of_a_folder_end_where_the_next_commands_lines_begin():
    facts = read_dump("$ ls /etc/modprobe.d; grep -rhs nv /etc/x; cat /sys/p\nblacklist.conf\ntuned.conf\nN\n$ true\n", "x").facts
    assert {path for path in facts if path.startswith("files/")} >= {f"files/%2Fetc%2Fmodprobe.d%2F{name}.conf/exists" for name in ("blacklist", "tuned")}
    assert not [path for path in facts if path.startswith("files/") and "N" in path.removeprefix("files/").replace("%2F", "")]
    assert "transcript/cat %2Fsys%2Fp/N" in facts


def test_a_digest_that_was_cut_is_told_by_its_beginning():
    assert told("sha256sum config.json | cut -c1-16,65-", "e19c3b70a45d8f12  config.json") == {"files/config.json/digest_begin": "e19c3b70a45d8f12"}


PLACES = """\
$ which gcc nvcc python
/usr/bin/gcc
/opt/venv/bin/python
$ command -v ninja
$ type -p cmake
cmake is /usr/bin/cmake
$ which -a cc
/usr/bin/which: no cc in (/usr/bin:/bin)
$ exit
"""


def test_which_tells_where_programs_lie_and_which_are_not_there():
    taken = read_dump(PLACES, "x")
    found = {name: taken.facts.get(f"programs/{name}/path") for name in ("gcc", "python", "cmake")}
    assert found == {"gcc": "/usr/bin/gcc", "python": "/opt/venv/bin/python", "cmake": "/usr/bin/cmake"}
    assert [taken.get(f"programs/{name}/path") for name in ("nvcc", "ninja", "cc")] == [Known(None)] * 3


def test_a_command_behind_powershell_s_prompt_is_read_up_to_the_next():
    prompt = "(ml) PS C:\\work dir>"
    text = f'{prompt} python --version\nPython 3.12.3\n{prompt} python -c "import torch; print(torch.__version__)"\n2.6.0\n'
    told = read_dump(text, "paste").facts
    assert (told["python/version"], told["torch/version"]) == ("3.12.3", "2.6.0")
