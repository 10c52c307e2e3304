"""Secrets never leave, and what is no secret stays whole. All secrets here are made up on the spot."""

from __future__ import annotations

import hashlib
import json
import random
import string
import time

import pytest

from driftwatch.agent.dist_metadata import without_userinfo
from driftwatch.agent.redact import Redactor

KEY = b"a key of this host"
MASK = Redactor(KEY)
RANDOM = random.Random(7)


def made_up(count: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(RANDOM.choice(letters) for _ in range(count - 3)) + "a1Z"


def shapes() -> dict[str, str]:
    return {
        "hugging face": "hf_" + made_up(34),
        "github": "ghp_" + made_up(36),
        "github fine": "github_pat_" + made_up(60),
        "gitlab": "glpat-" + made_up(20),
        "openai": "sk-" + made_up(48),
        "openai project": "sk-proj-" + made_up(48),
        "anthropic": "sk-ant-api03-" + made_up(80),
        "deepseek": "sk-" + "0123456789abcdef" * 2,
        "aws id": "AKIA" + "ABCDEFGH12345678",
        "google": "AIza" + made_up(35),
        "jwt": "eyJ" + made_up(30) + ".eyJ" + made_up(50) + "." + made_up(43),
        "slack": "xoxb-" + made_up(24),
        "npm": "npm_" + made_up(36),
        "org": "api_org_" + made_up(34),
    }


@pytest.mark.parametrize("kind", sorted(shapes()))
@pytest.mark.parametrize("around", ["{}", "login with {} failed", "url?x={}&y=1", "token={}\nnext", "'{}',", '"{}"', "line\\n{}\\nline"])
def test_a_token_of_a_known_shape_is_masked_wherever_it_stands(kind, around):
    secret = shapes()[kind]
    told = MASK.text(around.format(secret))
    assert secret not in told
    assert "[secret hmac-sha256:" in told


@pytest.mark.parametrize(
    ("text", "secret", "stays"),
    [
        ("api_key='{}', port=30000", made_up(12), "port=30000"),
        ("server_args=ServerArgs(model_path='/m', admin_api_key='{}')", made_up(9), "model_path='/m'"),
        ('{{"private_key_id": "{}", "type": "service_account"}}', "0123456789abcdef" * 2, '"type": "service_account"'),
        ("Authorization: Bearer {}", made_up(44), "Authorization: Bearer "),
        ("-H Authorization: Basic {}", made_up(20), "Authorization: Basic "),
        ("https://ci:{}@pypi.example/simple", made_up(20), "@pypi.example/simple"),
        ("https://{}@github.example/x.git", made_up(20), "@github.example/x.git"),
        ("Endpoint=https;AccountName=a;AccountKey={};Suffix=example", made_up(64) + "==", ";Suffix=example"),
        ("python -m sglang.launch_server --api-key {} --port 1", made_up(16), "--port 1"),
        ("curl -u me:{} https://example", made_up(12), "https://example"),
        ("export NCCL_PASSWORD={}", "12345678", "export NCCL_PASSWORD="),
        ("https://hooks.slack.com/services/T00/B00/{}", made_up(24), "https://hooks.slack.com/services/"),
        ("https://blob.example/x?sv=1&sig={}&se=2", made_up(40), "&se=2"),
        ("pull --hf-token={} now", made_up(14), " now"),
        ("key={} is wrong", made_up(40), " is wrong"),
        ("password: {}", made_up(9), "password: "),
    ],
)
def test_a_secret_is_known_by_the_name_before_it(text, secret, stays):
    told = MASK.text(text.format(secret))
    assert secret not in told
    assert stays in told


def test_a_private_key_block_is_masked_whole_even_where_its_end_was_cut_off():
    body = "\n".join(made_up(64) for _ in range(5))
    whole = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----"
    assert MASK.text(f"a {whole} b") == f"a {MASK.text(whole)} b"
    for one in (whole, whole[:150], json.dumps(whole)):
        assert not [line for line in body.split("\n") if line[:30] in MASK.text(one)]


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + hashlib.sha256(b"x").hexdigest(),
        "4e1b0a7" + "0" * 33,
        "c3ab8ff1-3720-4e8a-9bb0-1b2c3d4e5f60",
        "2.9.1+cu128",
        "/opt/venv/lib/python3.12/site-packages/sgl_kernel",
        "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77",
        "TOKENIZERS_PARALLELISM=false",
        "max_total_num_tokens=118494, chunked_prefill_size=8192",
        "eos_token='</s>'",
        "api_key=None, port=30000",
        "KeyError: 'attention_backend'",
        "token usage: 0.25, #token: 10569",
        "google-auth==2.40.1",
        "--speculative-token-map /models/map.pt",
        "ssh://git@github.com/x/y.git",
        "git@github.com:x/y.git",
        "https://files.example.org/packages/a@b/c.whl",
        "svn+ssh://root@h/x git+ssh://git@h/y",
        "http://host:8080/path@v1",
        "https://host:443/a?b=c@d",
        "http://registry:4873/@scope/x",
        "http://[::1]:8080/a@b http://host/a:b@c",
        "docker://ubuntu:22.04@sha256:0a1b docker-pullable://ubuntu@sha256:0a1b docker://localhost:5000/x@sha256:0a1b",
        "https://<user>:<token>@host",
        "Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55",
        "risk-free-and-task-based-scheduling-2024",
        "tokenizer_path='/data/models/Kimi-K2.5', tokenizer_mode='auto'",
        "libnvidia-ml.so.580.95.05",
        "PWD=/root",
        "sort_key=name",
        "/usr/lib/python3/dist-packages/keyring/backend.py",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text):
    assert MASK.text(text) == text
    assert MASK.line(json.dumps(["some/path", text])) == json.dumps(["some/path", text])


def test_the_same_secret_gives_the_same_mark_another_secret_another_and_another_host_another():
    one, other = "api_key=" + made_up(20), "api_key=" + made_up(20)
    assert MASK.text(one) == MASK.text(one) != MASK.text(other)
    assert MASK.text(one) != Redactor(b"the key of another host").text(one)


def test_marks_stay_as_they_are_when_a_text_is_masked_again():
    text = f"api_key='{made_up(12)}' https://u:{made_up(9)}@h/ Authorization: Bearer {made_up(30)} --token {made_up(12)} hf_{made_up(34)} curl -u a:b x"
    assert MASK.text(MASK.text(text)) == MASK.text(text)
    assert Redactor().text(Redactor().text(text)) == Redactor().text(text)


def test_without_a_key_no_digest_is_told():
    bare = Redactor()
    assert bare.value("HF_TOKEN", "hf_" + made_up(34)) == {"masked": True}
    assert bare.text("api_key=" + made_up(12)) == "api_key=[masked]"


def test_no_plain_digest_of_a_secret_is_told():
    secret = made_up(30)
    told = json.dumps([MASK.value("HF_TOKEN", secret), MASK.text("token=" + secret)])
    assert not [name for name in ("sha256", "sha1", "md5", "blake2b") if hashlib.new(name, secret.encode()).hexdigest()[:12] in told]


def test_a_line_of_json_stays_json_and_says_the_same_beside_the_secrets():
    for secret in (*shapes().values(), made_up(10), 'with "quotes" and \\ and \n', "\u2603\udc80", "\\"):
        for text in (f"password={secret} end", json.dumps({"api_key": secret, "port": 1}), f"{{'api_key': '{secret}', 'port': 1}}", f"x://a:{secret}@b"):
            for fact in (["servers/sglang/x", text], ["x", {"password": secret, "y": [text]}], ["x", json.dumps([text])]):
                told = json.loads(MASK.line(json.dumps(fact)))
                assert told[0] == fact[0]
                assert type(told[1]) is type(fact[1])


def test_a_number_under_a_secret_name_is_masked_as_json_text():
    assert json.loads(MASK.line('["x",{"password": 123456, "port": 80}]'))[1]["port"] == 80
    assert "123456" not in MASK.line('["x",{"password": 123456}]')


@pytest.mark.parametrize(
    "name",
    [
        "SGLANG_PORT",
        "NCCL_DEBUG",
        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
        "PATH",
        "PYTHONPATH",
        "VLLM_USE_V1",
        "HF_HOME",
        "PYTORCH_CUDA_ALLOC_CONF",
        "OMP_NUM_THREADS",
        "SLURM_NTASKS",
        "UCX_TLS",
        "TOKENIZERS_PARALLELISM",
        "SPT_NOENV",
        "XDG_CACHE_HOME",
        "LANG",
        "HTTPS_PROXY",
    ],
)
def test_variables_that_a_server_reads_are_told_with_their_values(name):
    assert MASK.is_shown(name)
    assert MASK.value(name, "some value") == "some value"


@pytest.mark.parametrize("name", ["MY_THING", "SLACK_HOOK", "DB_URL", "HOME", "USER", "SSH_CONNECTION", "LS_COLORS", "MY_API_KEY"])
def test_a_variable_that_is_not_listed_is_neither_shown_nor_digested(name):
    assert not MASK.is_shown(name)
    assert MASK.value(name, "some value") == {"masked": True}


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "NCCL_PASSWORD",
        "SGLANG_S3_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "VLLM_API_KEY",
        "SGLANG_AUTH_HEADER",
        "CUDA_CREDENTIALS",
        "WANDB_API_KEY",
        "VLLM_APIKEY",
        "SGLANG_TOKEN_VALUE",
        "NCCL_PASSWD",
    ],
)
def test_a_listed_variable_whose_name_is_a_secrets_is_told_as_a_keyed_digest(name):
    first, second = MASK.value(name, "one-value"), MASK.value(name, "another-value")
    assert first["keyed"].startswith("hmac-sha256:")
    assert first != second


@pytest.mark.parametrize(
    ("name", "value"), [("SGLANG_MAX_NEW_TOKENS_LIMIT", "4096"), ("SGLANG_LOG_DECODE_GRAPH_KEY", "true"), ("SGLANG_PATCH_TOKENIZER", "1"), ("HF_TOKEN", "")]
)
def test_a_switch_or_a_number_is_no_secret_even_where_a_word_of_the_name_is(name, value):
    assert MASK.value(name, value) == value


def test_names_that_the_user_wants_shown_are_shown_but_known_shapes_in_them_are_still_masked():
    mask = Redactor(KEY, also_show=("MY_TEAM_FLAG",), prefixes=("SITE_",))
    assert mask.value("MY_TEAM_FLAG", "blue") == "blue"
    assert mask.value("SITE_ZONE", "b") == "b"
    assert "hf_" not in str(mask.value("MY_TEAM_FLAG", "hf_" + made_up(34)))


def test_a_secret_inside_a_listed_variable_is_masked_and_the_rest_stays():
    assert MASK.value("SGLANG_PROXY", f"http://svc:{made_up(18)}@proxy.example:3128").endswith("@proxy.example:3128")


def test_arguments_are_masked_in_every_form():
    secret = made_up(20)
    argv = [
        "python",
        "-m",
        "sglang.launch_server",
        "--api-key",
        secret,
        f"--admin-api-key={secret}",
        "--hf-token",
        secret,
        "--header",
        f"Authorization: Basic {secret}",
        f"WANDB_API_KEY={secret}",
        f"https://u:{secret}@h/x",
        "--model-path",
        "/models/m",
        "--enable-auth",
        "--port",
        "30000",
    ]
    told = MASK.arguments(argv)
    assert len(told) == len(argv)
    assert secret not in " ".join(told)
    assert told[-5:] == ["--model-path", "/models/m", "--enable-auth", "--port", "30000"][-5:]
    assert secret not in " ".join(MASK.arguments(["/usr/bin/curl", "-u", secret, "https://h"]))


@pytest.mark.parametrize(
    "url",
    [
        "git+https://{}@dev.azure.example/org/_git/x", "ftp://{}@h", "postgres://{}@h/db", "https://user:pa/{}@host", "https://user:{}/ss@h/x", "redis://:pa/{}@host",
        "redis://:12/{}@host:6379/0", "postgres://user:p#{}@host/db", "https://u:p?{}@h", "https://u:a@b/{}@host", "https://u:{}<a>b@host", "ssh://u:{}@h/x",
    ],
)
def test_a_password_in_a_url_is_masked_whatever_stands_in_it(url):
    secret = made_up(12)
    for text in (url.format(secret), f"clone '{url.format(secret)}' now", json.dumps([url.format(secret) + "\nnext: a@b"])):
        told = MASK.text(text)
        assert secret not in told
        assert MASK.text(told) == told
        assert "host" in told or "host" not in url
    assert secret not in without_userinfo(url.format(secret))


def test_what_stands_behind_a_host_with_a_dot_is_no_password():
    told = MASK.text("git+https://u:{0}@git.example/o/x.git@v1.2 https://u:{0}@h.example/@scope/x,https://u:{0}@i.example/".format(made_up(12)))
    assert [one in told for one in ("@git.example/o/x.git@v1.2", "@h.example/@scope/x", "@i.example/")] == [True] * 3


@pytest.mark.parametrize(
    "command",
    [
        "sshpass -p {} ssh gpu-a", "sshpass -p{} ssh gpu-a", "redis-cli -h r -a {} ping", "/usr/bin/mysql -u app -p{} db",
        "docker login -u me -p {} registry.example",
        "sudo curl -u {} https://h", "curl -sSu {} https://h", "env A=1 curl --proxy-user={} https://h", "ipmitool -I lanplus -P {} power status",
        "serve --hf-token -{} --port 1", "serve --hf-token=-{} --port 1",
    ],
)
def test_a_password_is_masked_where_a_program_takes_it(command):
    secret = made_up(12)
    told = MASK.arguments(command.format(secret).split())
    assert secret not in " ".join(told)
    assert (len(told), told[0], told[-1]) == (len(command.split()), command.split()[0], command.split()[-1])
    assert secret not in MASK.text(command.format(secret))
    assert MASK.arguments(told) == told


@pytest.mark.parametrize(
    "command",
    [
        "docker run -p 8080:80 -u 1000 image", "ssh -p 22 gpu-a", "redis-cli -p 6379 ping", "mysql -P 3306 -u app", "curl -o x --user-agent y https://h",
        "curl -XPUT https://h",
        "serve --enable-auth --port 1", "serve --enable-auth -tp 8", "serve --api-key --host=h",
    ],
)
def test_other_options_of_a_program_are_told(command):
    assert MASK.arguments(command.split()) == command.split()
    assert MASK.text(command) == command


def test_a_variable_of_a_command_is_masked_to_the_end_of_its_word():
    assert [word.partition("=")[0] for word in MASK.arguments(["env", "MYSQL_PWD=a b; c", "--hf-token=x y"])] == ["env", "MYSQL_PWD", "--hf-token"]
    assert not {"b;", "c", "y"} & set(" ".join(MASK.arguments(["env", "MYSQL_PWD=a b; c", "--hf-token=x y"])).split())


def test_an_argument_is_masked_by_its_last_word_and_nested_values_by_theirs():
    assert MASK.argument("api_key", "abc") == MASK.keyed("abc")
    assert MASK.argument("api_key", None) is None
    assert MASK.argument("api_key", ["a", "b"])["keyed"]
    assert MASK.argument("speculative_token_map", "thunlp/map") == "thunlp/map"
    assert MASK.argument("config", {"auth": {"password": "x1"}, "n": [1, "y"]}) == {"auth": MASK.keyed('{"password": "x1"}'), "n": [1, "y"]}


@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "eyJ",
        "eyJa-",
        "curl ",
        "curl -x ",
        "bearer ",
        "a://",
        "a://b:",
        "password=",
        "password='",
        'token=\\"',
        "-----BEGIN PRIVATE KEY-----",
        "key-",
        "--api-key ",
        "1.1",
        "\\",
        "hf_ghp_",
        "AKIA",
        "a://b:@",
        "curl -",
        "mysql -p",
        "a://b:\\",
    ],
)
def test_a_hostile_text_is_looked_through_in_bounded_time(piece):
    started = time.monotonic()
    MASK.text(piece * (200_000 // len(piece)))
    MASK.text("password=" + piece * 20_000)
    assert time.monotonic() - started < 5
