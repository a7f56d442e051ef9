use super::*;
use proptest::prelude::*;
use serde_json::Value;

const OURS: &str = "/opt/bin/aops-hook";

/// Settings as people and editors write them.
const FOREIGN: &[&str] = &[
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\"model\":\"opus\"}",
    "{\"model\": \"opus\", \"n\": 1e5}\n",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n\t\"env\": {\"A\": \"1\"},\n\t\"n\": [1.0, 1e5, -0, 12345678901234567890123]\n}",
    "{\r\n    \"model\": \"opus\",\r\n    \"list\": [\r\n    ]\r\n}\r\n",
    "\n\n  {\n      \"a\": \"\\u00e9\\ud800 \\\"}]{[\\\\\",\n      \"é\": null }  \n",
    "{\n  \"a\": {\n    \"hooks\": {\n      \"Stop\": 1\n    }\n  }\n}\n",
    "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}, \"z\": 1}\n",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"other-hook PreToolUse\"\n          }\n        ]\n      }\n    ]\n  },\n  \"model\": \"opus\"\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"http\", \"url\": \"http://x/aops-hook\" }] }]\n  }\n}\n",
    "{\"b\":1,\"a\":2,\"b\":3}",
    "\u{feff}{\n  \"model\": \"opus\"\n}\n",
];

fn value(text: &str) -> Value {
    // `serde_json` rejects lone surrogates; for us they are merely foreign text.
    serde_json::from_str(&text.trim_start_matches(BOM).replace("\\ud800", "")).unwrap()
}

#[test]
fn registering_keeps_what_is_there_and_taking_out_gives_it_back() {
    for before in FOREIGN {
        let with = register(before, OURS).unwrap();
        assert_eq!(register(&with, OURS).unwrap(), with, "twice: {before}");
        let events: Vec<_> = EVENTS.iter().filter(|kind| kind.timeout > 0).map(|kind| kind.name).collect();
        let ours: Vec<_> = survey(&with).unwrap().ours;
        assert_eq!(ours.len(), events.len(), "{before}");
        assert!(ours.iter().all(|one| one.current && one.command == OURS), "{before}");
        let old = value(before);
        let new = value(&with);
        for (key, kept) in old.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(&new[key], kept, "{before}");
        }
        let after = unregister(&with, Some(before)).unwrap();
        let blank_inside = before.replace([' ', '\r', '\n'], "") == "{}";
        let wanted = if blank_inside {
            before.replace("{ }", "{}").replace("{\n}", "{}")
        } else {
            (*before).to_owned()
        };
        assert_eq!(after, wanted);
    }
}

#[test]
fn empty_lists_that_were_there_stay() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n";
    let with = register(before, OURS).unwrap();
    assert_eq!(unregister(&with, Some(before)).unwrap(), before);
    assert_eq!(unregister(&with, None).unwrap(), "{}\n");
    let before = "{\n  \"hooks\": {}\n}\n";
    let with = register(before, OURS).unwrap();
    assert_eq!(unregister(&with, Some(before)).unwrap(), before);
}

#[test]
fn the_style_of_the_file_is_ours() {
    let one = "{\"model\":\"opus\"}";
    let with = register(one, OURS).unwrap();
    assert!(
        !with.contains('\n') && with.starts_with("{\"model\":\"opus\",\"hooks\":{\"Setup\":[{\"hooks\":[{")
    );
    let tabs = register("{\n\t\"a\": 1\n}", OURS).unwrap();
    assert!(tabs.contains("\n\t\"hooks\": {\n\t\t\"Setup\": [\n\t\t\t{\n\t\t\t\t\"hooks\": ["), "{tabs}");
    assert!(tabs.ends_with("\n\t}\n}"));
    let windows = register("{\r\n    \"a\": 1\r\n}\r\n", OURS).unwrap();
    assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count());
    assert!(windows.contains("\r\n        \"Setup\": ["));
    assert!(
        register("{\"a\": 1}", OURS).unwrap().contains("{\"a\": 1, \"hooks\": {\"Setup\": [{\"hooks\": [{")
    );
    // Written the way the client itself writes the file, so that its next save changes nothing.
    let mine: Value = serde_json::from_str(&register("", OURS).unwrap()).unwrap();
    assert_eq!(mine["hooks"]["Stop"][0]["hooks"][0]["args"][0], "Stop");
    assert!(register("", OURS).unwrap().starts_with("{\n  \"hooks\": {\n    \"Setup\": [\n      {\n"));
}

#[test]
fn our_older_entries_are_replaced_where_they_stand() {
    let old = register(
        "{\n  \"a\": 1,\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]}\n}\n",
        "/old/aops-hook",
    )
    .unwrap();
    let new = register(&old, OURS).unwrap();
    assert_eq!(new, old.replace("/old/aops-hook", OURS));
    for (odd, says) in [
        (
            r#"{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"aops-hook Stop"}]}]}}"#,
            "no matcher",
        ),
        (
            r#"{"hooks":{"Stop":[{"hooks":[{"command":"'/a b/aops-hook' Stop"},{"command":"y"}]}]}}"#,
            "among others",
        ),
        (
            r#"{"hooks":{"WorktreeCreate":[{"hooks":[{"command":"/x/aops-hook","args":["WorktreeCreate"]}]}]}}"#,
            "no longer",
        ),
        (
            r#"{"hooks":{"Stop":[{"hooks":[{"command":"/x/aops-hook-Stop"}]},{"hooks":[{"command":"aops-hook","args":[]}]}]}}"#,
            "two",
        ),
        (
            r#"{"hooks":{"Stop":[{"hooks":[{"command":"/1/aops-hook Stop"}]}]},"hooks":{"Stop":[]}}"#,
            "two of a name",
        ),
    ] {
        let with = register(odd, OURS).unwrap();
        let ours = survey(&with).unwrap().ours;
        assert_eq!(ours.iter().filter(|one| one.event == "Stop").count(), 1, "{says}: {with}");
        assert!(ours.iter().all(|one| one.current), "{says}: {with}");
        assert!(!with.contains("WorktreeCreate"), "{says}");
        assert_eq!(with.contains("\"y\""), odd.contains("\"y\""), "{says}");
        assert_eq!(register(&with, OURS).unwrap(), with, "{says}");
        assert!(!unregister(&with, None).unwrap().contains(PROGRAM), "{says}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_line_and_column() {
    for (text, line, column) in [
        ("{\n  // mine\n  \"a\": 1\n}", 2, 3),
        ("{\n  \"a\": 1,\n}", 3, 1),
        ("[]", 1, 1),
        ("\n  7", 2, 3),
        ("{\"a\": 1} x", 1, 10),
        ("{\"a\": 1", 1, 7),
        ("{\n \"é\": 1, \"hooks\": []}", 2, 19),
        ("{\"hooks\": {\n\"Stop\": {}}}", 2, 9),
        ("nul", 1, 3),
    ] {
        let error = register(text, OURS).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
    for text in ["{", "[]", "\"\"", "{} {}"] {
        assert!(unregister(text, None).is_err() && survey(text).is_err(), "{text}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(unregister(&register(&deep, OURS).unwrap(), Some(&deep)).unwrap(), deep);
}

#[test]
fn only_our_programs_name_is_ours() {
    for hook in [
        r#"{"command":"/x/aops-hook2"}"#,
        r#"{"command":"echo aops-hook"}"#,
        r#"{"command":"/x/aops-hook/run"}"#,
        r#"{"command":"/x/aops-hook-Nothing"}"#,
        r#"{"url":"/x/aops-hook"}"#,
        r#""aops-hook""#,
    ] {
        let text = format!("{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{hook}]}}]}}}}");
        assert_eq!(unregister(&text, None).unwrap(), text);
    }
}

#[test]
fn survey_sees_switches_and_plugins() {
    let all =
        survey(r#"{"disableAllHooks":true,"allowManagedHooksOnly":true,"enabledPlugins":{"aops@m":true,"x@y":false}}"#)
            .unwrap();
    assert!(all.disabled && all.managed_only);
    assert_eq!(all.plugins, [("aops@m".to_owned(), true), ("x@y".to_owned(), false)]);
    let none = survey(r#"{"disableAllHooks":"true","a":{"allowManagedHooksOnly":true}}"#).unwrap();
    assert!(!none.disabled && !none.managed_only);
}

fn json() -> impl Strategy<Value = String> {
    let text =
        "[a-z \\\\\"/{}\\[\\],:é\u{1f600}]{0,6}".prop_map(|text| serde_json::to_string(&text).unwrap());
    let leaf =
        prop_oneof![Just("1e5".to_owned()), Just("-0.0".to_owned()), Just("null".to_owned()), text.clone()];
    let blank = prop_oneof![Just(""), Just(" "), Just("\n  "), Just("\r\n\t")];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let items = prop::collection::vec((inner.clone(), blank.clone(), blank.clone()), 0..4);
        let members = prop::collection::vec((text.clone(), inner, blank.clone()), 0..4);
        prop_oneof![
            items.prop_map(|items| {
                let items: Vec<_> = items.iter().map(|(v, a, b)| format!("{a}{v}{b}")).collect();
                format!("[{}]", items.join(","))
            }),
            members.prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(k, v, b)| format!("{b}{k}{b}:{b}{v}{b}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_settings_come_back_byte_for_byte(model in json(), stop in json(), blank in "[ \n\t]{0,3}", hooks in 0..4) {
        let hooks = match hooks {
            0 => String::new(),
            1 => format!(",{blank}\"hooks\"{blank}:{{}}"),
            2 => format!("{blank},\"hooks\":{{{blank}\"Stop\":[{blank}{stop}{blank}]{blank}}}{blank}"),
            _ => format!("{blank},\"hooks\":{{\"Stop\":[{{\"hooks\":[{stop},{{\"command\":\"x\"}}]}}],\"Other\":{stop}}}{blank}"),
        };
        let before = format!("{blank}{{{blank}\"model\":{model}{hooks}}}{blank}");
        let with = register(&before, OURS).unwrap();
        prop_assert_eq!(&register(&with, OURS).unwrap(), &with);
        prop_assert_eq!(unregister(&with, Some(&before)).unwrap(), before);
    }
}

#[test]
fn the_status_line_goes_as_it_came() {
    for before in FOREIGN {
        let with = with_status_line(&register(before, OURS).unwrap(), "/with blank/aops-hook").unwrap();
        assert_eq!(status_line(&with), StatusLine::Ours, "{with}");
        assert_eq!(value(&with)["statusLine"]["command"], "'/with blank/aops-hook' statusline");
        assert_eq!(with_status_line(&with, "/with blank/aops-hook").unwrap(), with, "twice");
        let moved = with_status_line(&with, OURS).unwrap();
        assert_eq!(value(&moved)["statusLine"]["command"], "/opt/bin/aops-hook statusline");
        let after = unregister(&moved, Some(before)).unwrap();
        assert_eq!(value(&after), value(before), "{after}");
        assert_eq!(after, unregister(&register(before, OURS).unwrap(), Some(before)).unwrap());
    }
    for foreign in ["\"x statusline\"", "\"aops-hook status\"", "\"mine | aops-hook statusline\"", "1"] {
        let text = format!("{{\"statusLine\": {{\"type\": \"command\", \"command\": {foreign}}}}}");
        assert!(matches!(status_line(&text), StatusLine::Foreign(_)), "{text}");
        assert_eq!(unregister(&text, None).unwrap(), text);
    }
    assert_eq!(status_line("{"), StatusLine::None);
}

/// Gemini CLI and Qwen Code allow comments: every byte of a person's file stays, and is restored as it was.
#[test]
fn comments_stay_where_they_are() {
    let group = |command: &str| Group {
        hooks: [Hook { r#type: "command", command: command.to_owned(), timeout: 9, ..Hook::default() }],
    };
    let wanted = |_: &str| Some(group("/opt/aops-hook BeforeTool --client gemini"));
    let events = || ["BeforeTool", "AfterTool"].into_iter();
    for text in [
        "// mine\n{\n  // the theme\n  \"theme\": \"x\" // dark\n}\n",
        "{\n  \"theme\": \"a // b /* c */\" /* one */ // two\n  // last\n}\n",
        "{\n  // nothing yet\n}\n",
        "{ /* nothing */ }",
        "{\"a\":1 /* x */}",
        "{\"a\": 1 // x\n}",
        "{\r\n\t\"a\": 1 // x\r\n}\r\n",
        "{\n  \"hooks\": {\n    // theirs\n    \"BeforeTool\": [\n      {\"hooks\": [{\"command\": \"x\"}]} // keep\n    ]\n  }\n}\n// end",
        "{\n  /* ü \"{ */ \"a\": [1, /* two */ 2]\n}\n",
    ] {
        let with = register_all(text, Grammar::Commented, events(), &wanted).unwrap();
        let comments = |text: &str| text.matches("//").count() + text.matches("/*").count();
        assert!(comments(&with) >= comments(text) && with.contains("/opt/aops-hook BeforeTool"), "{with}");
        let read: Value = serde_json::from_str(&Grammar::Commented.plain(&with)).unwrap();
        assert!(read["hooks"]["AfterTool"].is_array(), "{with}");
        let again = register_all(&with, Grammar::Commented, events(), &wanted).unwrap();
        assert_eq!(again, with, "twice is once");
        let survey = survey_in(&with, Grammar::Commented).unwrap();
        assert_eq!(survey.ours.len(), 2, "{with}");
        assert_eq!(unregister_in(&with, Grammar::Commented, Some(text)).unwrap(), text);
        assert!(register(text, "/opt/aops-hook").is_err(), "Claude Code reads no comments: {text}");
    }
    let odd = register_all("{\n  \"a\": 1, // x\n}", Grammar::Commented, events(), &wanted).unwrap_err();
    assert_eq!((odd.line, odd.column), (3, 1), "a trailing comma is no JSON for them either");
}
