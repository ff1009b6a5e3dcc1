//! One word exchanged, or two that changed places, in texts that are otherwise the same: "allergic to peanuts"
//! and "allergic to shellfish", 喜欢吃苹果 and 喜欢吃香蕉. Real paraphrases differ in more places; for the rest there is a list of words that
//! mean the same.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::words::{Text, Token, stem};
use super::{negation, numbers};

/// Words that mean the same in the same place, a group a line.
pub const SAME: &str = "\
restart reboot 重启 重新启动
delete remove erase 删除 移除 删掉
big large huge
small little tiny
fast quick rapid
begin start launch
end finish stop
fix repair solve resolve 修复 解决
error failure fault bug 错误 报错
issue problem trouble 问题 故障
show display
use utilize employ 使用 采用 用
buy purchase 购买 买
choose select pick 选择 挑选
build compile
change modify alter edit update 修改 更改 改
check verify inspect 检查 查看 核对
config configuration setting 配置 设置
create make
get obtain fetch receive 获取 拿到
folder directory 目录 文件夹
function method
help assist
need require must should 需要 必须 应该
prefer favour favor like love enjoy 喜欢 喜爱 偏好 爱
run execute launch 运行 执行
say state tell
send transmit 发送 发
store save keep 保存 存储 存
task job
try attempt
turn switch
user customer client people person someone somebody 用户 客户
want wish
cause reason 原因 缘故
because since
can could may might
child kid toddler
man guy gentleman person
woman lady person
sofa couch
tv television
photo picture image 图片 照片
doc document 文档
db database
repo repository
app application 应用 程序
login signin 登录 登陆
password passphrase 密码 口令
phone telephone mobile 手机 电话
now currently 现在 目前
but however 但是 不过
very really 非常 很 特别 十分 挺
everybody everyone
few several some
slice cut chop
play perform";

/// Words that carry no fact of their own, left out before comparing.
const EMPTY: &[&str] = &[
    "a", "about", "also", "an", "and", "are", "as", "at", "be", "been", "being", "by", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "his", "i", "in", "into", "is", "it", "its", "just",
    "my", "of", "on", "our", "please", "she", "some", "so", "that", "the", "their", "there", "these", "they",
    "this", "those", "to", "was", "we", "were", "will", "with", "would", "you", "your", "both", "couple",
    "pair", "twice", "once", "matter", "whatever", "ever", "still", "already", "think",
];
const EMPTY_HAN: &str = "的了着过吗呢吧啊嘛么呀能可以会要就都也还再又才很把被给在是有这那哪个些里为什怎样如何请和与跟及或而但咋啥我\
                         你他她它们您其该不没无未勿别非一二两三四五六七八九十百千万亿个次";

/// The groups of `SAME` that hold a word.
static GROUPS: LazyLock<Vec<HashSet<String>>> =
    LazyLock::new(|| SAME.lines().map(|line| line.split(' ').map(stem).collect()).collect());

/// An exchange longer than this, one side and both together, is a rewording.
const LONGEST_WORDS: (usize, usize) = (2, 3);
const LONGEST_HAN: (usize, usize) = (4, 7);
/// What must stay the same around it.
const KEPT_WORDS: usize = 2;
const KEPT_HAN: usize = 3;

pub fn differ(a_text: &Text, b_text: &Text) -> Option<String> {
    let (a, b) = (units(a_text), units(b_text));
    let before = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let after = a[before..].iter().rev().zip(b[before..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (left, right) = (&a[before..a.len() - after], &b[before..b.len() - after]);
    if passive(a_text) == passive(b_text)
        && let Some((first, last)) = swapped(left, right)
    {
        return Some(format!("order: {first}, {last} / {last}, {first}"));
    }
    let han = |units: &[String]| units.iter().any(|unit| is_han(unit));
    let (longest, kept) =
        if han(left) || han(right) { (LONGEST_HAN, KEPT_HAN) } else { (LONGEST_WORDS, KEPT_WORDS) };
    let exchanged = |side: &[String]| {
        (1..=longest.0).contains(&side.len()) && side.iter().any(|unit| !EMPTY_HAN.contains(unit.as_str()))
    };
    let long = left.len() + right.len() > longest.1;
    if long || before + after < kept || !exchanged(left) || !exchanged(right) || same(left, right) {
        return None;
    }
    let shown = |side: &[String]| side.join(if han(side) { "" } else { " " });
    Some(format!("words: {} / {}", shown(left), shown(right)))
}

/// "Sliced by a woman" changes the places without changing the roles.
fn passive(text: &Text) -> bool {
    text.words().any(|word| word.lower == "by")
}

/// Two that changed places around something that is the same: "Alice owes Bob". Around "and" they are a list.
fn swapped<'a>(left: &'a [String], right: &[String]) -> Option<(&'a String, &'a String)> {
    let ([first, kept @ .., last], [f, k @ .., l]) = (left, right) else {
        return None;
    };
    let listed = |unit: &String| matches!(unit.as_str(), "和" | "与" | "及" | "或" | "跟");
    let link = kept.iter().any(|unit| !EMPTY_HAN.contains(unit.as_str())) && !kept.iter().any(listed);
    (first == l && last == f && kept == k && link).then_some((first, last))
}

/// Stems without empty words, and Chinese by the character.
fn units(text: &Text) -> Vec<String> {
    let mut units = Vec::new();
    for token in &text.tokens {
        match token {
            Token::Word(word) if is_empty(&word.lower) || compared(&word.lower) => {}
            Token::Word(word) => units.push(word.stem.clone()),
            Token::Han(run) => units.extend(run.chars().map(String::from)),
            _ => {}
        }
    }
    units
}

fn is_empty(lower: &str) -> bool {
    EMPTY.contains(&lower.split('\'').next().unwrap_or(lower))
}

/// Numbers, units and denials: other parts of the gate know what of them is the same.
fn compared(lower: &str) -> bool {
    lower.bytes().any(|b| b.is_ascii_digit())
        || numbers::unit(lower).is_some()
        || numbers::english(&[lower]).is_some()
        || negation::is_negator(lower)
}

/// Whether the exchanged parts mean the same: by the list, by a shared part, or as forms of one word.
fn same(left: &[String], right: &[String]) -> bool {
    let (whole_left, whole_right) = (left.concat(), right.concat());
    let group = |word: &String| GROUPS.iter().filter(|group| group.contains(word)).collect::<Vec<_>>();
    let listed = |x: &String, y: &String| group(x).iter().any(|g| g.contains(y));
    let related = |x: &String, y: &String| x == y || listed(x, y) || is_form(x, y) || is_form(y, x);
    listed(&whole_left, &whole_right)
        || is_form(&whole_left, &whole_right)
        || is_form(&whole_right, &whole_left)
        || left.iter().any(|x| right.iter().any(|y| related(x, y)))
}

/// `config` and `configur`, `deploy` and `deployment`.
fn is_form(long: &str, short: &str) -> bool {
    short.len() > 3 && short.is_ascii() && long.starts_with(short)
}

fn is_han(unit: &str) -> bool {
    unit.chars().all(super::words::is_han)
}
