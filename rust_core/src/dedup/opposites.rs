//! Opposite words, one on each side.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::words::{Text, stem};

/// One group a line: sides that exclude each other, each a list of words.
const ENGLISH: &str = "\
enable activate | disable deactivate
on | off
before | after
increase grow rise raise | decrease shrink fall reduce lower drop
allow permit accept approve | deny forbid prohibit block reject disallow refuse decline
open | close closed shut
start begin launch | stop end halt finish
up | down
true | false
success succeed successful successfully pass | failure fail unsuccessful
add insert append | remove delete drop
include contain | exclude omit
above over | below under beneath
min minimum least smallest lowest | max maximum most largest highest
more greater | less fewer
high higher tall taller | low lower short shorter
fast faster quick quicker quickly | slow slower slowly
always | never
all every everyone | none nobody
left | right
first | second | third | last
public | private
synchronous sync | asynchronous async
read | write
push | pull
upload | download
import | export
encrypt | decrypt
lock | unlock
login | logout
win won | lose lost
buy bought purchase | sell sold
hot warm | cold cool
old older | new newer young younger
early earlier | late later
inside indoors indoor | outside outdoors outdoor
in into | out
internal | external
positive | negative
good great better best | bad worse worst poor
easy simple | hard difficult complex
like love enjoy | dislike hate
safe | dangerous unsafe
required mandatory | optional
local | remote
online | offline
manual manually | automatic automatically
ascending | descending
horizontal | vertical
development dev | staging | production prod
morning | afternoon | evening night
yesterday | today | tomorrow
daily | weekly | monthly | yearly annually
man men male gentleman | woman women female lady
boy boys | girl girls
father dad | mother mom mum
brother | sister
husband | wife
son | daughter
summer | winter | spring | autumn
north | south | east | west
red | blue | green | yellow | black | white | orange | purple | pink | brown | gray grey
empty | full
wet | dry
big large huge | small tiny little
happy | sad
alive | dead
asleep sleeping | awake
sit sitting seated | stand standing
laugh laughing | cry crying
arrive | leave depart
married | single divorced
agree | disagree
remember | forget
rich | poor
near close | far
same identical | different
strong | weak
thick | thin
wide | narrow
cheap | expensive
vegetarian vegan | meat
top | bottom
front | behind back
dark | light bright
toward towards | away
attach | detach
apply | remove
friend | enemy
present | absent
odd | even
primary main | secondary backup
parent | child
upgrade | downgrade
expand | collapse
show | hide
sender | receiver recipient
source | target destination
employer | employee
landlord | tenant
lend | borrow";

/// The same for Chinese; a word counts where it stands anywhere, unless inside a longer one of the group.
const CHINESE: &str = "\
启用 开启 打开 | 禁用 停用 关闭 关掉
增加 提高 升高 上升 上涨 增长 调高 上调 | 减少 降低 下降 下跌 调低 下调
开始 启动 | 停止 结束 终止
允许 | 禁止
成功 | 失败
之前 以前 | 之后 以后
上午 早上 | 下午 | 晚上
上周 上星期 上个星期 | 下周 下星期 下个星期 | 本周 这周 这星期
上个月 上月 | 下个月 下月 | 本月 这个月
昨天 昨日 | 今天 今日 | 明天 明日 | 前天 | 后天
去年 | 今年 | 明年
以上 | 以下
上线 | 下线
上班 | 下班
上传 | 下载
上升 | 下降
登录 登陆 | 登出 退出登录
添加 新增 加入 | 删除 移除
包含 包括 | 排除
支持 | 反对
同意 | 反对
接受 | 拒绝
喜欢 喜爱 | 讨厌 厌恶
安全 | 危险
同步 | 异步
公开 | 私有 保密
内部 | 外部
左 | 右
东 | 西 | 南 | 北
男 | 女
爸爸 父亲 | 妈妈 母亲
哥哥 弟弟 | 姐姐 妹妹
儿子 | 女儿
最大 | 最小
最高 | 最低
最多 | 最少
更多 | 更少
真 | 假
快 | 慢
大 | 小
高 | 低
长 | 短
多 | 少
新 | 旧 | 老
早 | 晚
冷 | 热
好 | 坏
买 买入 | 卖 卖出
赢 | 输
进口 | 出口
导入 | 导出
加密 | 解密
手动 | 自动
本地 | 远程
在线 | 离线
生产环境 | 测试环境 | 开发环境
必填 必需 必须 | 可选
相同 一样 | 不同 不一样
收入 | 支出
借 | 还
借出 | 借入
转入 | 转出
提前 | 延后 推迟 逾期
红 | 黄 | 蓝 | 绿 | 黑 | 白";

static ENGLISH_GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| groups(ENGLISH));
static CHINESE_GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| groups(CHINESE));

/// Sides that exclude each other.
type Group = Vec<Vec<Entry>>;

struct Entry {
    word: &'static str,
    stem: String,
}

fn groups(table: &'static str) -> Vec<Group> {
    let entry = |word| Entry { word, stem: stem(word) };
    let side = |side: &'static str| side.split_whitespace().map(entry).collect();
    table.lines().map(|line| line.split('|').map(side).collect()).collect()
}

pub fn differ(a: &Text, b: &Text) -> Option<String> {
    let stems = |text: &Text| -> HashSet<String> { text.words().map(|word| word.stem.clone()).collect() };
    let (left, right) = (stems(a), stems(b));
    let english = ENGLISH_GROUPS.iter().find_map(|group| {
        opposed(group, |entry| left.contains(&entry.stem), |entry| right.contains(&entry.stem))
    });
    let chinese = || {
        if !a.has_han() || !b.has_han() {
            return None;
        }
        let says = |text: &Text, word: &str| {
            text.tokens.iter().filter_map(|t| t.han()).any(|run| run.contains(word))
        };
        CHINESE_GROUPS
            .iter()
            .find_map(|group| opposed(group, |entry| says(a, entry.word), |entry| says(b, entry.word)))
    };
    let (left, right) = english.or_else(chinese)?;
    Some(format!("opposites: {left} / {right}"))
}

/// A side that only the first text takes and another that only the second takes.
fn opposed(
    group: &Group,
    in_a: impl Fn(&Entry) -> bool,
    in_b: impl Fn(&Entry) -> bool,
) -> Option<(&'static str, &'static str)> {
    let said = |side: &[Entry], by: &dyn Fn(&Entry) -> bool| {
        side.iter().find(|entry| by(entry)).map(|entry| entry.word)
    };
    let taken: Vec<_> = group.iter().map(|side| (said(side, &in_a), said(side, &in_b))).collect();
    let only_a = taken.iter().find_map(|(a, b)| if b.is_none() { *a } else { None })?;
    let only_b = taken.iter().find_map(|(a, b)| if a.is_none() { *b } else { None })?;
    Some((only_a, only_b))
}
