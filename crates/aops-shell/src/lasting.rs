//! Whether a line is meant to keep running after it returns: in the background, or as a server.
//!
//! Reads the line, but no file. What a program does by itself is not known here.

use crate::syntax::Line;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    Background,
    Server,
}

/// Programs that leave something running.
const DETACHES: &[&str] = &[
    "coproc", "daemonize", "disown", "nohup", "screen", "setsid", "start-stop-daemon", "systemd-run", "tmux",
];
/// Programs that only start another.
const RUNNERS: &[&str] =
    &["bunx", "command", "env", "exec", "nice", "npx", "stdbuf", "time", "uvx", "xvfb-run"];
const RUNNERS_WITH_VERB: &[(&str, &[&str])] = &[
    ("bundle", &["exec"]),
    ("hatch", &["run"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("poetry", &["run"]),
    ("rye", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];
/// Programs that only serve.
const SERVERS: &[&str] = &[
    "caddy", "daphne", "gunicorn", "http-server", "http.server", "hypercorn", "json-server", "jupyter",
    "jupyter-lab", "live-server", "mongod", "mysqld", "nginx", "nodemon", "postgres", "puma", "redis-server",
    "serve", "uvicorn",
];
/// Programs with some verbs that serve or watch.
const WITH_VERB: &[&str] = &[
    "artisan", "astro", "cargo", "deno", "docusaurus", "dotnet", "expo", "fastapi", "flask", "gatsby",
    "gmake", "hugo", "jekyll", "just", "make", "manage.py", "mkdocs", "next", "ng", "npm", "nuxt", "parcel",
    "php", "pnpm", "rails", "remix", "streamlit", "task", "vite", "vue-cli-service", "webpack", "wrangler",
    "yarn", "bun",
];
const VERBS: &[&str] =
    &["-S", "dev", "develop", "preview", "runserver", "s", "serve", "server", "start", "storybook", "watch"];

/// How the line leaves something running or runs a server, if it does. A line that waits for what it started
/// leaves nothing running.
pub fn lasts(line: &Line) -> Option<Lasting> {
    let waits = line.commands.iter().any(|simple| simple.name() == Some("wait"));
    if line.background && !waits {
        return Some(Lasting::Background);
    }
    let commands = || line.text.split([';', '|', '&', '\n', '(', ')', '{', '}', '`']).map(words);
    if commands().any(|words| words.iter().take(4).any(|word| DETACHES.contains(&file_name(word)))) {
        return Some(Lasting::Background);
    }
    commands().any(|words| serves(&words)).then_some(Lasting::Server)
}

fn words(command: &str) -> Vec<&str> {
    let assigns = |word: &&str| !word.starts_with('-') && word.contains('=');
    command.split_whitespace().skip_while(assigns).map(|word| word.trim_matches(['"', '\''])).collect()
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn serves(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    if rest.iter().any(|word| matches!(*word, "--help" | "-h" | "--version" | "help")) {
        return false;
    }
    let name = file_name(first);
    let verb = rest.first().copied().unwrap_or_default();
    let with_verb = |(known, verbs): &(&str, &[&str])| *known == name && verbs.contains(&verb);
    match name {
        _ if RUNNERS.contains(&name) => {
            let skipped = rest.iter().take_while(|word| word.starts_with('-') || word.contains('=')).count();
            serves(&rest[skipped..])
        }
        _ if RUNNERS_WITH_VERB.iter().any(with_verb) => serves(&rest[1..]),
        _ if name.starts_with("python") => {
            let module = rest.iter().position(|word| *word == "-m");
            let script = rest.iter().position(|word| !word.starts_with('-'));
            module.map(|at| at + 1).or(script).is_some_and(|at| serves(&rest[at.min(rest.len())..]))
        }
        "php" if file_name(verb) == "artisan" => serves(rest),
        "vite" if rest.iter().all(|word| word.starts_with('-')) => true,
        "flask" | "fastapi" | "streamlit" if rest.contains(&"run") => true,
        _ if SERVERS.contains(&name) => true,
        _ if WITH_VERB.contains(&name) => {
            let scripts = rest.iter().filter(|word| !matches!(**word, "run" | "run-script" | "task"));
            let mut first = scripts.filter(|word| !word.starts_with('-') || **word == "-S").take(1);
            first.any(|word| VERBS.contains(&word.split(':').next().unwrap_or_default()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Ground, cut};

    fn read(line: &str) -> Line {
        cut(line, &Ground { cwd: "/p", home: "/h", variables: &[] })
    }

    const BACKGROUND: &str =
        "make serve &\nnohup ./server.sh\n./a.sh & echo $!\n(sleep 5; make) &\nsetsid make watch
env A=1 nohup make > /dev/null\nmake & disown\ntmux new -d make\nif true; then make & fi";
    const SERVER: &str =
        "npm start\nnpm run dev\nyarn dev\npnpm run serve:web\npython3 -m http.server 8000\nvite
python manage.py runserver\nflask run\nuvicorn app:app\nbundle exec rails s\nphp -S localhost:80\nmake serve
npx next dev\nuv run python -m http.server\ncargo watch -x test\nPORT=1 npm start\ncd web && npm run start:dev
poetry run uvicorn app:app --reload\nmkdocs serve\nnpx http-server";
    const NEITHER: &str =
        "make\nmake test\nnpm test\nnpm run build\nmake & wait\npython3 script.py\nvite build\nnext build
cargo test server\nnpm start --help\ntimeout 5 npm start\ngo test ./... 2>&1 | tail\nmake -j4 all\npython -m pytest
cargo build && ./run.sh\nflask --version\nng build\npython3 manage.py migrate\nnpm run test:watchless\nuv run pytest";

    #[test]
    fn a_line_that_lasts_is_known_by_its_words() {
        for (lines, wanted) in
            [(BACKGROUND, Some(Lasting::Background)), (SERVER, Some(Lasting::Server)), (NEITHER, None)]
        {
            for line in lines.lines() {
                assert_eq!(lasts(&read(line)), wanted, "{line}");
            }
        }
    }
}
