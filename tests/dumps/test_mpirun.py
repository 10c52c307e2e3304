from driftwatch.dumps import launch_lines
from driftwatch.dumps.mpirun import FORMAT
from tests.dumps.reading import facts, is_unknown

COMMAND = "/usr/mpi/bin/mpirun -np 16 --host 192.0.2.1:8 \\\n\t-x NCCL_DEBUG=INFO \\\n\t-x NCCL_IB_HCA=mlx5_0:1 -x PATH \\\n\tpython ./train.py --model=m\n"


def test_variables_that_mpirun_hands_on_are_read():
    assert facts(FORMAT, COMMAND) == {"env/NCCL_DEBUG": "INFO", "env/NCCL_IB_HCA": "mlx5_0:1"}


def test_a_prompt_may_stand_before_it():
    assert facts(FORMAT, "user@gpu-7:~$ mpirun -n 2 -x NCCL_P2P_DISABLE=1 ./all_reduce_perf -g 1\n") == {"env/NCCL_P2P_DISABLE": "1"}


def test_of_two_commands_that_set_other_variables_none_is_told():
    assert facts(FORMAT, COMMAND + "and this works:\n" + COMMAND.replace("INFO", "WARN")) == {}


def test_what_a_shell_would_have_put_in_is_unknown():
    assert is_unknown(facts(FORMAT, "mpirun -x NCCL_SOCKET_IFNAME=$IFACE ./run\n")["env/NCCL_SOCKET_IFNAME"])


def test_a_sentence_about_it_is_no_command():
    assert facts(FORMAT, "I use mpirun -x NCCL_DEBUG=INFO here\n") == {}


def test_a_server_that_it_starts_has_the_variables():
    found = facts(launch_lines.FORMAT, "mpirun -n 2 -x NCCL_DEBUG=INFO python -m sglang.launch_server --tp-size 2\n")
    assert (found["servers/sglang/env/NCCL_DEBUG"], found["servers/sglang/args/tp_size"]) == ("INFO", 2)
