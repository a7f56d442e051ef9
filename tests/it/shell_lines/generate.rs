//! Makes shell lines out of the corpora's: words swapped, dropped, doubled; options, payloads and constructs
//! put in.

/// What would leave a trace, if a program took it for an option, a program or a file to write.
#[rustfmt::skip]
const PAYLOADS: &[&str] = &[
    "pwned", "'a[$(touch pwned)]'", "\"a[\\$(touch pwned)]\"", "--output=pwned", "-opwned", "-o pwned", "--output pwned", "'w pwned'",
    "'s/a/b/w pwned'", "'e touch pwned'", "':!touch pwned'", "'BEGIN{print > \"pwned\"}'", "'{system(\"touch pwned\")}'", "-i", "-w", "--in-place",
    "-exec touch pwned \\;", "-delete", "-fprint pwned", "--pre=./evil", "--to-command=touch", "$(printf 'a[$\\x28touch pwned)]')", "a[$(touch pwned)]",
    "$'a[\\x24(touch pwned)]'", "REPLY", "$REPLY", "$x", "\"$x\"", "${x}", "$1", "$_", "*", "*.txt", "a*", "{a,b}.txt", "-", "--", "+x", "~",
    "$(cat evil)", "$(cat armed)", "\"$(cat armed)\"", "${!x}", "$((x))", "$[x]", "${a[x]}", "$x[y]", "-x touch", "README.md", "a.txt b.txt", "evil",
];

/// Commands that change what later words mean, or run something with what is there.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "x=$(cat armed);", "x=--output=pwned;", "x=pwned;", "x='a[$(touch pwned)]';", "read x < armed;", "read < armed;", "read -r x y < evil;", "mapfile < armed;",
    "mapfile -t x < evil;", "read -ax < evil;", "x=a; read -rax < evil;", "declare -i x;", "typeset x=1;", "local x;", "shopt -s extglob;", "shopt -so posix;", "set -k;",
    "set -a;", "set -e;", "set -- pwned --output=pwned;", "printf -v x %s pwned;", "printf -v x '%s' --output=pwned;", "[[ $x =~ .* ]];", "let x=1;", ": ${x:=pwned};",
    "unset x;", "cd .;", "IFS=;", "IFS=: read x < armed;", "for x in pwned --output=pwned; do", "for x in *; do", "while read x; do", "f() {", "if true; then", "case a in a)",
    "time", "!", "command", "builtin", "env", "exec", "eval", "nohup", "timeout 1", "nice", "xargs", "echo pwned | xargs", "cat evil | xargs", "ls | xargs -I{}",
    "find . -exec", "export x=pwned;", "CI=1", "LC_ALL=C", "TZ=UTC", "COLUMNS=80", "PAGER=cat", "GIT_PAGER=cat", "_=pwned;", "trap 'echo x' EXIT;",
];

const AFTER: &[&str] = &[
    "",
    "",
    "",
    "",
    "; done",
    "; done < evil",
    "; }; f",
    "; fi",
    ";; esac",
    "| cat",
    "| sort",
    "| head -1",
    "&& echo ok",
    "|| true",
    "2>&1",
    "2>/dev/null",
    "> /dev/null",
    "< a.txt",
    "<<< pwned",
    "<<< 'a[$(touch pwned)]'",
    "{} \\;",
    "{} +",
    "| while read x; do echo $x; done",
    "| xargs echo",
    "&",
    "--version",
    "--help",
    "-V",
    "-v",
];

/// Steps from one number to the next, the same on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.next(of.len())]
    }
}

/// The lines of the corpora.
fn corpus() -> Vec<String> {
    let judged = include_str!("../../fixtures/effect/lines.txt")
        .lines()
        .filter_map(|row| row.split_once('\t'))
        .map(|(_, line)| line);
    let everyday = include_str!("../../fixtures/effect/everyday.txt").lines();
    let lines = judged.chain(everyday).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.replace('␤', "\n")).collect()
}

pub(super) fn lines(seed: u64, count: usize) -> Vec<String> {
    let corpus = corpus();
    let words: Vec<Vec<&str>> = corpus.iter().map(|line| line.split(' ').collect()).collect();
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..count).map(|_| line(&words, &mut dice)).collect()
}

fn line(words: &[Vec<&str>], dice: &mut Dice) -> String {
    let mut own: Vec<&str> = words[dice.next(words.len())].clone();
    for _ in 0..=dice.next(3) {
        let at = dice.next(own.len());
        let other = &words[dice.next(words.len())];
        match dice.next(9) {
            0 => own[at] = dice.one(PAYLOADS),
            1 => own.insert(at + 1, dice.one(PAYLOADS)),
            2 => own.push(dice.one(PAYLOADS)),
            3 => own[at] = dice.one(other),
            4 => own.insert(at, dice.one(other)),
            5 if own.len() > 1 => drop(own.remove(at)),
            6 => own.insert(0, dice.one(BEFORE)),
            7 => own.push(dice.one(AFTER)),
            _ => {
                let second = dice.next(own.len());
                own.swap(at, second);
            }
        }
    }
    own.join(" ")
}

/// It waits, prints for ever, or asks the network: it would only take time.
pub(super) fn lasts(line: &str) -> bool {
    let words = [
        "sleep", "tail -f", "yes", "-f", "--follow", "top", "ping", "curl", "wget", "watch", "journalctl",
        "vmstat", "iostat", "/dev/zero", "/dev/urandom", "-F", "npm", "npx", "yarn", "pnpm", "gcloud",
    ];
    words.iter().any(|word| line.contains(word))
}
