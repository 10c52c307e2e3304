from driftwatch.dumps.ollama_log import FORMAT
from driftwatch.dumps.read import read_dump
from tests.dumps.reading import facts

HEAD = '2024/08/06 12:29:23 routes.go:1108: INFO server config env="map['
TOP = "servers/ollama/env"


def test_settings_are_read_and_what_is_empty_is_not_set():
    found = facts(FORMAT, HEAD + "CUDA_VISIBLE_DEVICES: OLLAMA_DEBUG:true OLLAMA_HOST:http://0.0.0.0:9000 OLLAMA_ORIGINS:[http://localhost https://localhost] "
                  'OLLAMA_SCHED_SPREAD:false http_proxy:]"\n')
    assert found == {
        f"{TOP}/OLLAMA_DEBUG": "true", f"{TOP}/OLLAMA_HOST": "http://0.0.0.0:9000", f"{TOP}/OLLAMA_ORIGINS": "[http://localhost https://localhost]",
        f"{TOP}/OLLAMA_SCHED_SPREAD": "false"}


def test_what_a_terminal_broke_at_a_lines_end_is_left_out():
    found = facts(FORMAT, HEAD + "OLLAMA_DEBUG:true OLLAMA_MODELS:/srv/mo\ndels OLLAMA_NEW_ENGINE:false OLLAMA_NOPRUNE:true OLLAMA_NUM_PAR\n"
                  'ALLEL:4 OLLAMA_SCHED_SPREAD:true]"\n')
    assert found == {f"{TOP}/OLLAMA_DEBUG": "true", f"{TOP}/OLLAMA_NEW_ENGINE": "false", f"{TOP}/OLLAMA_SCHED_SPREAD": "true"}


def test_the_later_form_of_the_line_is_read_too():
    line = 'time=2025-10-01T08:00:01.000Z level=INFO source=routes.go:1481 msg="server config" env="map[OLLAMA_DEBUG:INFO OLLAMA_HOST:http://0.0.0.0:9000]"\n'
    assert facts(FORMAT, line) == {f"{TOP}/OLLAMA_DEBUG": "INFO", f"{TOP}/OLLAMA_HOST": "http://0.0.0.0:9000"}


def test_a_setting_that_was_cut_is_left_out():
    assert read_dump(HEAD + "OLLAMA_DEBUG:true OLLAMA_ORIGINS:[http://local", "paste").facts == {f"{TOP}/OLLAMA_DEBUG": "true"}


def test_a_word_out_of_order_is_a_part_of_the_value_before():
    assert facts(FORMAT, HEAD + 'OLLAMA_MODELS:/srv/my CUDA:models OLLAMA_NOPRUNE:false]"\n')[f"{TOP}/OLLAMA_MODELS"] == "/srv/my CUDA:models"


def test_the_version_is_the_servers_own():
    line = 'time=2024-08-06T12:29:23.809Z level=INFO source=routes.go:1155 msg="Listening on [::]:9000 (version 0.3.3)"\n'
    assert facts(FORMAT, line) == {"servers/ollama/version": "0.3.3"}
