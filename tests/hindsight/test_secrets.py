"""What counts as a secret, and that none gets out of hindsight, wherever in a log it stands."""

import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone.hindsight import lesson_text, look_back, read_trajectory, summarize_run
from siltstone.hindsight.masking import Masker
from siltstone.hindsight.state import derive_state
from siltstone.model import Outcome, Step, Trajectory

KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('Type "webtestpilot" in the password field', "webtestpilot"),
        ("The password 'webtestpilot' has been typed into the textbox labeled 'Password'", "webtestpilot"),
        ("用户名/密码：admin/admin@2024", "admin@2024"),
        ("在密码框中输入 admin@2024，然后登录", "admin@2024"),
        ("输入“芝麻开门吧”作为密码", "芝麻开门吧"),
        ("短信验证码：493817，十分钟内有效", "493817"),
        ("user / password: admin / s3cret!", "s3cret!"),
        ("curl -u bob:hunter22 https://x.example", "hunter22"),
        ("sshpass -p 'hunter22' ssh host", "hunter22"),
        ("docker login -u bob -p hunter22 registry.example", "hunter22"),
        ("DB_PASSWORD=hunter22 psql", "hunter22"),
        ("Server=db;User Id=sa;Password=hunter22;", "hunter22"),
        ("DefaultEndpointsProtocol=https;AccountKey=Zm9vYmFyYmF6;", "Zm9vYmFyYmF6"),
        ("amqps://bob:hunter22@mq.example:5671/v", "hunter22"),
        ("GET /a?sig=Zm9vYmFyYmF6&x=1", "Zm9vYmFyYmF6"),
        ("Cookie: sid=Zm9vYmFyYmF6; theme=dark", "Zm9vYmFyYmF6"),
        ("Set-Cookie: session=Zm9vYmFyYmF6; HttpOnly", "Zm9vYmFyYmF6"),
        ('Authorization: Digest username="bob", response="6629fae49393"', "6629fae49393"),
        ("authorization: Basic Ym9iOmh1bnRlcjIy", "Ym9iOmh1bnRlcjIy"),
        ("export X=AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("key: github_pat_11ABCDEFG0abcdefghijkl", "github_pat_11ABCDEFG0abcdefghijkl"),
        ("It is AIzaSyA1234567890abcdefghijklmnopqrstu.", "AIzaSyA1234567890abcdefghijklmnopqrstu"),
        ("pay with 4111 1111 1111 1111 please", "4111 1111 1111 1111"),
        ("银行卡 6228480402564890018 已绑定", "6228480402564890018"),
        (f"-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----", KEY.split("\n")[1]),
        ("await page.getByLabel('Password').fill('hunter22');", "hunter22"),
        ("await page.locator('#user-password').type('hunter22')", "hunter22"),
        ("page.fill('input[name=password]', 'hunter22')", "hunter22"),
        ('- textbox "Password" [ref=e12]: hunter22', "hunter22"),
        ('{"client_secret": "hunter22", "a": 1}', "hunter22"),
        ('"{\\"password\\": \\"hunter22\\"}"', "hunter22"),
    ],
)
def test_a_secret_told_in_a_text_is_masked_there_and_everywhere_else(text, secret):
    masker = Masker(Trajectory(goal="x", steps=[Step(number=1, result=text)]))
    assert secret not in masker.mask(text)
    assert "***" in masker.mask(text)
    assert masker.mask(f"it was {secret}, 就是{secret}。") == "it was ***, 就是***。"
    assert secret not in masker.safe_part(text)


@pytest.mark.parametrize(
    "text",
    [
        "Invalid token: expected identifier",
        "SyntaxError: Unexpected token < in JSON at position 0",
        "password: required",
        "max_tokens: 4096, total tokens: 12, 'prompt_tokens': 300",
        "self.token = get_token()",
        "password = os.environ['DB_PASSWORD']",
        "echo $API_TOKEN | login --password-stdin",
        "密码错误，请重试",
        "The token expired. Pass the token as a header.",
        "order 1772323200000 of 4111 1111 1111 1112",
        "see https://a.example:8080/x@y",
        "the author of the keyboard driver",
    ],
)
def test_what_only_speaks_of_secrets_stays_as_it_is(text):
    masker = Masker(Trajectory(goal=text, steps=[Step(number=1, result=text)]))
    assert masker.mask(text) == text
    assert masker.safe_part(text) == text


@pytest.mark.parametrize(
    "arguments",
    [
        {"element": "Password textbox", "ref": "e3", "text": "hunter22"},
        {"element": "密码输入框", "text": "hunter22"},
        {"selector": "#loginPassword", "value": "hunter22"},
        {"xpath": "//input[@type='password']", "value": "hunter22"},
        {"index": 3, "element": "input pw password", "text": "hunter22"},
        {"fields": [{"name": "User", "value": "bob"}, {"name": "Password", "value": "hunter22"}]},
        {"placeholder": "API key", "input_text": "hunter22"},
        {"headers": {"X-Api-Key": "hunter22"}},
        {"env": {"REDIS_PASS": "hunter22"}},
        {"字段": "口令", "内容": "hunter22"},
        {"clientSecret": ["hunter22"]},
    ],
)
def test_what_is_typed_into_a_secrets_field_is_a_secret(arguments):
    step = Step(number=1, tool="type", arguments=arguments, result="Input hunter22 into 3", is_error=False)
    masker = Masker(Trajectory(goal="Log in", steps=[step]))
    assert masker.mask(step.result) == "Input *** into 3"


@pytest.mark.parametrize(
    "arguments",
    [
        {"element": "Search box", "text": "hunter22"},
        {"title": "Reset password page", "content": "hunter22 " * 100},
        {"key": "Enter", "text": "hunter22"},
        {"max_tokens": "hunter22"},
        {"password": "${PASSWORD}"},
    ],
)
def test_what_is_typed_elsewhere_is_not(arguments):
    masker = Masker(Trajectory(goal="x", steps=[Step(number=1, tool="type", arguments=arguments)]))
    assert masker.mask("hunter22 and ${PASSWORD}") == "hunter22 and ${PASSWORD}"


@pytest.mark.parametrize(
    ("page", "arguments", "answer"),
    [
        ('[2]<input name=user>\n[3]<input type="password" name=x>', {"index": 3, "text": "swordfish"}, "ok"),
        ("", {"index": 3, "text": "swordfish"}, "Typed into <input type=password>"),
        ("", {"index": 3, "text": "swordfish"}, "[2]<input name=user>\n[3]<input type=password>"),
        ('- textbox "User" [ref=e1]\n- textbox "密码" [ref=e2]', {"ref": "e2", "text": "swordfish"}, "ok"),
        ('uid=1_4 textbox "Password"', {"uid": "1_4", "value": "swordfish"}, "ok"),
        ("[3]<input type=password>", {"input_text": {"index": 3, "text": "swordfish"}}, "ok"),
    ],
)
def test_what_is_typed_by_number_is_a_secret_where_the_page_lists_a_field_for_one(page, arguments, answer):
    look = Step(number=1, tool="look", result=page)
    step = Step(number=2, tool="input", arguments=arguments, result=answer)
    trajectory = Trajectory(goal="Log in", steps=[look, step, Step(number=3, text="I typed swordfish.")])
    assert Masker(trajectory).mask("I typed swordfish.") == "I typed ***."
    assert "swordfish" not in str(derive_state(trajectory.steps))


def test_what_is_typed_after_a_click_on_a_field_for_a_secret_is_one():
    click = Step(number=1, tool="click", arguments={"element": "Password"})
    steps = [click, Step(number=2, tool="type", arguments={"text": "swordfish"})]
    steps.append(Step(number=3, tool="type", arguments={"text": "mackerel"}))
    assert Masker(Trajectory(steps=steps)).mask("swordfish, mackerel") == "***, mackerel"


@pytest.mark.parametrize(
    ("page", "arguments", "answer"),
    [
        ("[2]<input name=user>\n[3]<input type=password>", {"index": 2, "text": "swordfish"}, "ok"),
        ("", {"index": 2, "text": "swordfish"}, "[2]<input name=user>\n[3]<input type=password>"),
        ("", {"text": "swordfish"}, "a page with <input name=q> and <input type=password>"),
        ("[3]<input type=password>", {"index": 3, "keys": "Enter", "note": "swordfish"}, "ok"),
    ],
)
def test_what_is_typed_by_number_into_another_field_is_none(page, arguments, answer):
    look = Step(number=1, tool="look", result=page)
    step = Step(number=2, tool="input", arguments=arguments, result=answer)
    masker = Masker(Trajectory(goal="Log in", steps=[look, step]))
    assert masker.mask("swordfish, Enter") == "swordfish, Enter"


def test_a_short_secret_beside_chinese_is_masked_but_not_inside_a_word():
    masker = Masker(Trajectory(steps=[Step(number=1, tool="t", arguments={"password": "root"})]))
    assert masker.mask("用root登录 rooted root") == "用***登录 rooted ***"


def test_a_secret_cut_in_the_middle_is_masked_as_far_as_it_goes():
    masker = Masker(Trajectory(steps=[Step(number=1, tool="t", arguments={"token": "Zm9vYmFyYmF6cXV4"})]))
    assert masker.mask("denied for Zm9vYmFyYm") == "denied for ***"
    assert masker.mask("FyYmF6cXV4 was denied") == "*** was denied"


def test_a_secret_in_the_name_of_a_tool_stays_out_of_tools_and_tags():
    run = {
        "task": "Read the table",
        "outcome": "success",
        "steps": [{"thought": "Read.", "action": "PGPASSWORD=hunter22 psql -c x", "observation": "1 row"}],
    }
    trajectory = read_trajectory(run).trajectory
    assert trajectory.steps[0].tool == "PGPASSWORD=hunter22"
    lessons = look_back(trajectory)
    assert lessons
    assert "hunter22" not in str(lessons) + summarize_run(trajectory, lessons)


LETTERS = string.ascii_letters + string.digits + "!@#%+_~密码开门"
SECRET = st.text(LETTERS, min_size=8, max_size=40).filter(
    lambda text: any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
)
PLACES = [
    lambda s: {"tool": "login", "arguments": {"user": "bob", "password": s}},
    lambda s: {"tool": "browser_type", "arguments": {"element": "密码", "ref": "e1", "text": s}},
    lambda s: {"tool": "fill", "arguments": {"selector": "#api-token", "value": s}},
    lambda s: {"tool": "http", "arguments": {"headers": {"Authorization": s}}},
    lambda s: {"tool": "set", "arguments": {"config": json.dumps({"db_password": s}, ensure_ascii=False)}},
    lambda s: {"text": f'The cause was the password "{s}" of bob.'},
    lambda s: {"text": f"原因是密码“{s}”不对。"},
    lambda s: {"tool": "run", "arguments": {"command": f"export API_TOKEN='{s}'"}},
]
SAYS = [
    "Error: access denied for {0}",
    "The root cause was {0}, which is wrong.",
    "根本原因是{0}写错了，改为别的。",
    "Fixed by replacing {0} with another.",
    "Input {0} into index 3",
    '{{"error": "bad {0}"}}',
]


@settings(max_examples=150, deadline=None)
@given(
    SECRET,
    st.sampled_from(PLACES),
    st.lists(st.sampled_from(SAYS), min_size=1, max_size=4),
    st.sampled_from(list(Outcome)),
    st.booleans(),
)
def test_no_secret_ever_gets_into_what_leaves_hindsight(secret, place, says, outcome, chinese):
    steps = [Step(**place(secret))]
    for said in says:
        told = said.format(secret)
        steps.append(Step(text=told, tool="update_config", arguments={"value": told}, result=told))
    steps.append(Step(text=f"修好了，{secret}可以用了。" if chinese else f"Fixed, {secret} works now."))
    for number, step in enumerate(steps, start=1):
        step.number = number
    goal = f"为 bob 登录，{secret}" if chinese else f"Log bob in with {secret}"
    trajectory = Trajectory(goal=goal, outcome=outcome, steps=steps)
    lessons = look_back(trajectory)
    shown = [str(lessons), *map(lesson_text, lessons), summarize_run(trajectory, lessons)]
    assert lessons
    assert all(secret not in text for text in shown)
