use super::*;
use std::fs;

fn head(id: &str, seq: u64) -> Head {
    Head {
        blocked: false,
        boot: None,
        digest: format!("{seq:064}"),
        log: None,
        project: "-p".to_owned(),
        reason: None,
        seq,
        session_id: id.to_owned(),
        ts: "2026-01-13T10:00:00.123Z".to_owned(),
    }
}

/// A folder with one old head for each of `many` ledgers, as a release without an index left it.
fn folder_of(many: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = |n| canonical(&head(&format!("old-{n:06}"), n)) + "\n";
    fs::write(folder.path().join(FILE), (0..many).map(line).collect::<String>()).unwrap();
    folder
}

fn newest(folder: &tempfile::TempDir, id: &str) -> Option<u64> {
    Heads::at(folder.path(), false).newest(id).unwrap().map(|head| head.seq)
}

#[test]
fn the_newest_head_is_found_with_and_without_an_index() {
    let folder = folder_of(3000);
    let heads = Heads::at(folder.path(), false);
    let read_only = Heads::at(folder.path(), true);
    assert_eq!(read_only.newest("old-000007").unwrap(), Some(head("old-000007", 7)));
    assert!(!folder.path().join("heads.index").exists(), "a reader that may not write writes nothing");
    for round in 1..200 {
        for id in ["a", "b", "old-000007"] {
            heads.export(&head(id, round)).unwrap();
            assert_eq!(newest(&folder, id), Some(round));
        }
        assert_eq!(newest(&folder, "old-002999"), Some(2999));
        assert_eq!(newest(&folder, "nobody"), None);
    }
    let index = fs::read(folder.path().join("heads.index")).unwrap();
    for broken in [&index[..20], &index[..index.len() - 7], b"words", &vec![0xff; index.len()]] {
        fs::write(folder.path().join("heads.index"), broken).unwrap();
        assert_eq!((newest(&folder, "b"), newest(&folder, "nobody")), (Some(199), None));
    }
}

/// The file was replaced by a copy: the index must neither hide nor invent heads.
#[test]
fn an_index_of_another_file_is_not_believed() {
    let folder = folder_of(100);
    let path = folder.path().join(FILE);
    let old = fs::read(&path).unwrap();
    for n in 0..60 {
        Heads::at(folder.path(), false).export(&head(&format!("new-{n}"), 1000 + n)).unwrap();
    }
    fs::write(&path, &old).unwrap();
    assert_eq!((newest(&folder, "old-000050"), newest(&folder, "new-3")), (Some(50), None));
    let mut other = String::from_utf8(old).unwrap().replace("old-0000", "off-0000").into_bytes();
    other.extend(fs::read(&path).unwrap());
    fs::write(&path, other).unwrap();
    assert_eq!((newest(&folder, "off-000050"), newest(&folder, "old-000051")), (Some(50), Some(51)));
}

#[test]
fn a_torn_line_hides_no_other() {
    let folder = folder_of(1);
    let path = folder.path().join(FILE);
    let bytes = fs::read(&path).unwrap();
    for cut in 1..bytes.len() {
        fs::write(&path, [&bytes[..], &bytes[..cut]].concat()).unwrap();
        Heads::at(folder.path(), false).export(&head("new", 5)).unwrap();
        assert_eq!(
            (newest(&folder, "new"), newest(&folder, "old-000000")),
            (Some(5), Some(0)),
            "cut at {cut}"
        );
    }
}

#[test]
fn blocked_heads_are_those_whose_last_word_is_a_block() {
    let folder = folder_of(500);
    let heads = Heads::at(folder.path(), false);
    let blocked = |id: &str, seq| Head { blocked: true, reason: Some("r".to_owned()), ..head(id, seq) };
    heads.export(&blocked("a", 1)).unwrap();
    heads.export(&blocked("b", 1)).unwrap();
    heads.export(&head("a", 2)).unwrap();
    heads.export(&blocked("b", 3)).unwrap();
    assert_eq!(heads.blocked().unwrap(), [blocked("b", 3)]);
}

/// Two ledgers that export forever keep the file small, and every other head stays.
#[test]
fn the_file_stays_below_twice_its_newest_heads() {
    let folder = folder_of(2500);
    let path = folder.path().join(FILE);
    let line = |n: u64| canonical(&head(if n.is_multiple_of(2) { "a" } else { "b" }, n)) + "\n";
    let mut text = fs::read_to_string(&path).unwrap();
    text.extend((0..5000).map(line));
    fs::write(&path, text).unwrap();
    Heads::at(folder.path(), false).export(&head("a", 9999)).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    assert!(size < 600_000, "{size}");
    assert_eq!((newest(&folder, "a"), newest(&folder, "b")), (Some(9999), Some(4999)));
    assert_eq!((newest(&folder, "old-002499"), newest(&folder, "old-000000")), (Some(2499), Some(0)));
}
