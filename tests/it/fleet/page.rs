//! `docs/fleet.md`: every command that it shows is run, and says what the page says; `…` is anything.

use super::work::Farm;
use std::fs;
use std::path::Path;

#[test]
fn the_pages_commands_work() {
    let farm = Farm::new(&[("one", "true")]);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet.md")).unwrap();
    let shown = |kind: &str| {
        page.split(&format!("```{kind}\n")).nth(1).unwrap().split("```").next().unwrap().to_owned()
    };
    farm.person.put(".aops/workflows/tidy.md", &shown("markdown"));
    farm.git(&["add", "-A"]);
    farm.git(&["commit", "-q", "-m", "tidy"]);
    farm.git(&["push", "-q"]);
    farm.postgres.sql("drop schema aops cascade");
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut run = 0;
    for shown in blocks.flat_map(|block| block.split("$ ").skip(1)) {
        let (line, wanted) = shown.split_once('\n').unwrap();
        let line = line.strip_prefix("aops-hook ").unwrap();
        let words: Vec<&str> = line
            .split('\'')
            .enumerate()
            .flat_map(|(n, part)| if n % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
            .collect();
        let said = farm.person.person(&words);
        assert_eq!(said.code, Some(0), "{line}: {said:?}");
        for part in
            wanted.lines().flat_map(|line| line.split('…')).map(str::trim).filter(|part| !part.is_empty())
        {
            assert!(said.out.contains(part), "{line}: no `{part}` in {}", said.out);
        }
        run += 1;
    }
    assert!(run > 4, "the commands were found");
}
