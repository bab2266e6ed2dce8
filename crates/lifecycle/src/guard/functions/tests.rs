use crate::guard::Fault;
use crate::guard::test_scope::{ints, task, texts};
use crate::value::Value;

fn yields(source: &str, expected: impl Into<Value>) {
    assert_eq!(task().eval(source), Ok(expected.into()), "{source}");
}

fn fails(source: &str, expected: &str) {
    assert_eq!(task().eval(source), Err(Fault::Failed(expected.into())), "{source}");
}

#[test]
fn text() {
    yields("size('héé') + 'ab'.size()", 5);
    yields("title.contains('x i') && title.startsWith('Fix') && title.endsWith('it')", true);
    yields("title.lowerAscii() + upperAscii(title)", "fix itFIX IT");
    yields("'  a '.trim()", "a");
    yields("'a,b,,c'.split(',')", texts(&["a", "b", "", "c"]));
    yields("'héy'.split('')", texts(&["h", "é", "y"]));
    yields("assigneeIds.join() + assigneeIds.join('+')", "coder-1coder-2coder-1+coder-2");
    yields("title.matches('^F.x') && !matches(title, '^x')", true);
    yields("pair('b', 'a') + pair('a', 'b')", "a|ba|b");
    yields(
        "string(1) + string(1.50) + string(true) + string(lease) + string(since)",
        "11.5true1m1970-01-01T00:16:40Z",
    );
}

#[test]
fn commands_of_a_shell() {
    yields("shell('ls -a | head && git status').map(c, c.join(' ')).join('; ')", "ls -a; head; git status");
    yields("shell('ls $HOME') == [[]] && shell('') == [[]]", true);
    yields("shell('rm x; $(y)').all(c, ['rm'].exists(it, (c.join(' ') + ' ').startsWith(it + ' ')))", false);
}

#[test]
fn numbers() {
    yields("int('42') + int(2.9) + int(-2.9)", 42);
    yields("int(since)", 1000);
    yields("double('1.5') + double(1)", Value::Float(2.5));
    yields("pow(2, 10)", 1024);
    yields("pow(2, -1)", Value::Float(0.5));
    yields("pow(score, 2)", Value::Float(2.25));
    yields("[round(2.5), round(-2.5), ceil(1.2), floor(-1.2), round(3)]", ints(&[3, -3, 2, -2, 3]));
    yields("round(1.0 / 3, 6)", Value::Float(0.333_333));
    yields("round(1234567890123.1234567, 6)", Value::Float(1_234_567_890_123.123_5));
    yields("abs(-3) + abs(3)", 6);
    yields("abs(-1.5)", Value::Float(1.5));
    yields("abs(-lease) == lease", true);
    yields("min(3, 1, 2) + max(numbers)", 4);
    yields("max(1, 1.5)", Value::Float(1.5));
    yields("max(since, now) == now && min(lease, duration('1s')) == duration('1s')", true);
    yields("min([])", Value::Null);
    yields("sum(numbers) + sum([])", 6);
    yields("sum([1, 0.5])", Value::Float(1.5));
    yields("sum([lease, lease]) == duration('2m')", true);
    fails("int(title)", "`Fix it` is not a whole number");
    fails("round(score * 1e300)", "the result is too large");
    fails("round(score, -1)", "`round` keeps 0 to 15 digits");
    fails("pow(10, reviewCycles * 10)", "the result is too large");
    fails("pow(10.5, 10000)", "the result is not a finite number");
    fails("pow(-1, 0.5)", "the result is not a finite number");
    fails("max(reviewCycles, extra.no)", "cannot compare nothing with a whole number");
}

#[test]
fn lists() {
    yields("add(assigneeIds, 'coder-2')", texts(&["coder-1", "coder-2"]));
    yields("assigneeIds.add('x')", texts(&["coder-1", "coder-2", "x"]));
    yields("append(numbers, 1)", ints(&[3, 1, 2, 1]));
    yields("remove(append(numbers, 1), 1)", ints(&[3, 2]));
    yields("unique(numbers + [1, 2, 4])", ints(&[3, 1, 2, 4]));
    yields("numbers.slice(1)", ints(&[1, 2]));
    yields("numbers.slice(-5, 1) + numbers.slice(2, 1) + numbers.slice(2, 99)", ints(&[3, 2]));
    yields("first(numbers) + numbers.last()", 5);
    yields("first(nothing) == null && last([]) == null", true);
    yields(
        "nothing.add('a') + nothing.append('b') + nothing.remove('c') + nothing.slice(1)",
        texts(&["a", "b"]),
    );
}

#[test]
fn time() {
    yields("minutes(lease) + seconds(lease) + hours(duration('30m'))", Value::Float(61.5));
    yields("minutes(now - since)", Value::Float(1.5));
    yields("duration(string(lease)) == lease && timestamp(string(now)) == now", true);
    fails("duration(title)", "`Fix it` is not a length of time such as `90s`, `15m` or `1h30m`");
}
