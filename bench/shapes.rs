//! Lines of 4 KB, each of one shape: `lines` times them, and a test counts what is read of them.

const LONG: usize = 4096;

/// Shapes of lines: what is repeated, and what stands around it.
pub(super) const SHAPES: &[(&str, &str, &str, &str)] = &[
    ("one long word", "echo ", "x", ""),
    ("many words", "echo ", "word ", ""),
    ("many commands", "", "git status; ", "true"),
    ("a long pipe", "cat a.txt ", "| grep -v x ", ""),
    ("substitutions", "echo ", "$(ls -l src) ", ""),
    ("nested substitutions", "echo ", "$(echo ", ""),
    ("quotes", "printf '%s' ", "\"a b\" 'c d' ", ""),
    ("variables", "echo ", "${A:-x}$B ", ""),
    ("redirections", "", "echo x > /tmp/a; ", "true"),
    ("paths", "rm -f ", "src/../src/a/b.rs ", ""),
    ("globs", "ls ", "src/**/*.rs ", ""),
    ("braces", "echo ", "{a,b}/{c,d} ", ""),
    ("wrappers", "", "env A=1 sudo sh -c 'git log'; ", "true"),
    ("find and xargs", "", "find . -name x | xargs rm; ", "true"),
    ("heredoc", "cat > a.txt <<'EOF'\n", "some text, $x and `y`\n", "\nEOF"),
    ("code for an interpreter", "python3 -c \"", "print(open('a').read()); ", "\""),
    ("no shell at all", "if (", "(( ", ""),
    ("control flow", "", "for f in *; do echo $f; done; ", "true"),
    ("unknown commands", "", "frob \"some text here\" 'and more'; ", "true"),
    ("words of an unknown one", "frob ", "src/a/b.rs ", ""),
    ("a message", "git commit -m \"", "a long message, about x and (y)\n", "\""),
    ("subshells", "", "(cd src && ls); ", "true"),
    ("functions", "", "f() { ls \"$1\"; }; f x; ", "true"),
    ("assignments", "", "x=1; y=$x; ", "true"),
    ("backquotes", "echo ", "`ls -l` ", ""),
    ("sums", "echo ", "$((1 + 2)) ", ""),
];

/// The line of a shape.
pub(super) fn line((name, before, again, after): (&str, &str, &str, &str)) -> String {
    let times = (LONG - before.len() - after.len()) / again.len();
    let closing = if name == "nested substitutions" { ")".repeat(times) } else { String::new() };
    [before, &again.repeat(times), &closing, after].concat()
}
