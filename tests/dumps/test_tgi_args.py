from driftwatch.dumps.read import read_dump
from driftwatch.dumps.tgi_args import FORMAT
from tests.dumps.reading import facts

HEAD = "2024-01-17T19:54:02.802403Z  INFO text_generation_launcher: Args {"
TOP = "servers/tgi/args"


def test_the_launchers_arguments_are_read_in_our_words():
    found = facts(FORMAT, HEAD + ' model_id: "org/m, big: one", revision: None, sharded: Some(true), num_shard: Some(2), quantize: Some(Awq), '
                  'trust_remote_code: false, waiting_served_ratio: 1.2, cors_allow_origin: [] }\n')
    assert found == {
        f"{TOP}/model_id": "org/m, big: one", f"{TOP}/revision": None, f"{TOP}/sharded": True, f"{TOP}/num_shard": 2, f"{TOP}/quantize": "Awq",
        f"{TOP}/trust_remote_code": False, f"{TOP}/waiting_served_ratio": 1.2, f"{TOP}/cors_allow_origin": []}


def test_one_field_a_line_is_read_too():
    text = HEAD + '\n    model_id: "m",\n    num_shard: Some(\n        4,\n    ),\n    port: 80,\n}\nprose: here\n'
    assert facts(FORMAT, text) == {f"{TOP}/model_id": "m", f"{TOP}/num_shard": 4, f"{TOP}/port": 80}


def test_a_field_that_was_cut_is_left_out():
    assert read_dump(HEAD + ' model_id: "m", port: 3000, master_addr: "loca', "paste").facts == {f"{TOP}/model_id": "m", f"{TOP}/port": 3000}


def test_a_key_among_them_is_masked():
    assert "verysecret" not in str(facts(FORMAT, HEAD + ' api_key: Some("verysecret"), port: 80 }\n'))
