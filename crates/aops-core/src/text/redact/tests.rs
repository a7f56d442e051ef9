//! Tests with tables: what is redacted, and what stays.

use super::*;

#[test]
fn assignments_go() {
    let rows = [
        ("password=hunter2", "password=[redacted:password]"),
        ("  password: hunter2 # mine", "  password: [redacted:password] # mine"),
        ("- passphrase: 'correct'", "- passphrase: '[redacted:password]'"),
        ("export DB_PASS=correcthorse", "export DB_PASS=[redacted:password]"),
        ("PGPASSWORD=letmein psql -h db", "PGPASSWORD=[redacted:password] psql -h db"),
        (r#"{"password": "hunter", "user": "bob"}"#, r#"{"password": "[redacted:password]", "user": "bob"}"#),
        (r#"{\"clientSecret\": \"a1b2c3d4e5\"}"#, r#"{\"clientSecret\": \"[redacted:secret]\"}"#),
        (r#"api_key = "a1b2c3d4e5""#, r#"api_key = "[redacted:secret]""#),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted:secret]",
        ),
        ("https://h/x?token=abcdefgh&page=2", "https://h/x?token=[redacted:secret]&page=2"),
        ("deploy --password=hunter --dry-run", "deploy --password=[redacted:password] --dry-run"),
        ("deploy --password hunter2 --dry-run", "deploy --password [redacted:password] --dry-run"),
        ("deploy --api-key 'k1k2k3k4k5'", "deploy --api-key '[redacted:secret]'"),
        ("Server=db;User=sa;Password=S3cret!x;", "Server=db;User=sa;Password=[redacted:password];"),
        ("AccountKey=Zm9vYmFyMTIzNDU2Nzg5MA==;x", "AccountKey=[redacted:secret];x"),
        ("x-api-key: 9f8e7d6c5b4a", "x-api-key: [redacted:secret]"),
        ("Authorization: Bearer abcd", "Authorization: Bearer [redacted:bearer-token]"),
        ("authorization: token abcdef", "authorization: token [redacted:authorization]"),
        ("-H 'Cookie: sid=abc123; theme=dark'", "-H 'Cookie: [redacted:cookie]'"),
        ("password = \"a\\\"b4\" tail", "password = \"[redacted:password]\" tail"),
        ("token: \"ghp_0123456789abcdefghij0123456789abcdef\"", "token: \"[redacted:github-token]\""),
        ("password := `hunter2`", "password := `[redacted:password]`"),
        ("'password' => 'hunter2',", "'password' => '[redacted:password]',"),
        ("password=\"cut off he", "password=\"cut off he"),
        ("password=\"cutoffhe", "password=\"[redacted:password]"),
        ("password=pässwörd", "password=[redacted:password]"),
        ("mysql -u root -phunter2 db", "mysql -u root -p[redacted:password] db"),
        ("sshpass -p hunter2 ssh h", "sshpass -p [redacted:password] ssh h"),
        ("docker login -u bob -p 'hunter2' h", "docker login -u bob -p '[redacted:password]' h"),
        ("cd x && unzip -P hunter2 a.zip", "cd x && unzip -P [redacted:password] a.zip"),
        ("htpasswd -b .htpasswd bob hunter2", "htpasswd -b .htpasswd bob [redacted:password]"),
        ("htpasswd -nb bob hunter2; ls", "htpasswd -nb bob [redacted:password]; ls"),
        ("machine h.com login bob password hunter2", "machine h.com login bob password [redacted:password]"),
        ("bot 123456789:AAF0123456789abcdefghij0123456789a_ x", "bot 123456789:[redacted:telegram-token] x"),
        ("dapi0123456789abcdef0123456789abcdef", "[redacted:databricks-token]"),
        ("    client-key-data: LS0tLS1CRUdJTiBSU0Eg", "    client-key-data: [redacted:secret]"),
        ("https://h/x?sv=1&sig=aB3%2Fdef456", "https://h/x?sv=1&sig=[redacted:secret]"),
        ("https://h/x?X-Amz-Signature=0a1b2c3d4e5f", "https://h/x?X-Amz-Signature=[redacted:secret]"),
        ("define('DB_PASSWORD', 'hunter2');", "define('DB_PASSWORD', '[redacted:password]');"),
        ("create secret --from-literal=pw=hunter2", "create secret --from-literal=pw=[redacted:password]"),
        ("password=\"a\\ébc\"", "password=\"[redacted:password]\""),
    ];
    for (text, want) in rows {
        assert_eq!(redact(text), want);
    }
}

#[test]
fn logins_and_keys_go() {
    let rows = [
        ("postgres://bob:hunter2@db/x", "postgres://bob:[redacted:password]@db/x"),
        ("https://:tok@h", "https://:[redacted:password]@h"),
        ("amqp://u:p@ss:word@h:1/", "amqp://u:[redacted:password]@h:1/"),
        ("Basic dXNlcjpwYXNz", "Basic [redacted:basic-auth]"),
        ("Bearer a1b2c3d4e5f6a7b8c9", "Bearer [redacted:bearer-token]"),
        ("curl -u admin:hunter2 http://h", "curl -u admin:[redacted:password] http://h"),
        ("\\nsk-ant-api03-AAAAAAAAAAAAAAAA", "\\n[redacted:anthropic-key]"),
        ("%3Dsk-ant-api03-AAAAAAAAAAAAAAAA", "%3D[redacted:anthropic-key]"),
        ("\u{1b}[1;32msk-ant-api03-AAAAAAAAAAAAAAAA", "\u{1b}[1;32m[redacted:anthropic-key]"),
        ("a eyJhbGciOiJI.eyJzdWIiOiIx.c2ln b", "a [redacted:jwt] b"),
        ("AKIAIOSFODNN7TESTING", "[redacted:aws-key-id]"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x.(y)\n\nMII\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted:private-key]\nb",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMII cut", "[redacted:private-key]"),
        (
            "k: \"-----BEGIN EC PRIVATE KEY-----\\nMII=\\n-----END EC PRIVATE KEY-----\\n\" z",
            "k: \"[redacted:private-key]\\n\" z",
        ),
        (
            "     1→-----BEGIN OPENSSH PRIVATE KEY-----\n     2→b3Bl\n     3→-----END OPENSSH PRIVATE KEY-----\n",
            "     1→[redacted:private-key]\n",
        ),
    ];
    for (text, want) in rows {
        assert_eq!(redact(text), want);
    }
}

#[test]
fn words_stay() {
    for plain in [
        "mkdir -p sub/folder && mysql -p db",
        "docker run -p 8080:80 img",
        "nmap -p 22,80 h; ssh -p 2222 h",
        "the login asks for a password first",
        "unzip -p a.zip file.txt",
        "config.get('API_TOKEN', 'none')",
        "the api of work and words",
        "sk-learn is a library",
        "task-ant-farm-in-the-garden-of-my-neighbour",
        "sk-chasing-dots-container-2-large",
        "http://localhost:8080/x",
        "risk_live_",
        "é sk-ant-é",
        "-----BEGIN CERTIFICATE-----\n",
        "https://a@b/c:d",
        "ghp_short",
        "hf_transfer_some_long_snake_case_function_name",
        "let token = next_token();",
        "password: String,",
        "password: &str",
        "token: Option<String>",
        "const SECRET = process.env.SECRET",
        "\"token\": null",
        "password=$PASSWORD",
        "PASSWORD=${PASSWORD:-x}",
        "password = os.environ[\"PASSWORD\"]",
        "token = parser.next_token",
        "secret: ${{ secrets.DEPLOY_KEY_2 }}",
        "max_tokens: 4096",
        "if token == expected_token1234 {",
        "token::Token2",
        "PWD=/home/someone",
        "OLDPWD=/home/someone1",
        "bypass=somewhere1",
        "monkey: abc123def456",
        "\"password\": \"Please enter a password\"",
        "type=\"password\" name=\"x\"",
        "password: \"********\"",
        "api_key: \"<your key>\"",
        "api_key: \"your_api_key_1\"",
        "secret = sha256_digest_of_payload",
        "Authorization: Bearer ${token}",
        "Authorization: Bearer <token>",
        "use bearer authentication-for-everything",
        "Basic authentication is basic arithmetic",
        "/* Basic Options */",
        "the Cookie: a small biscuit",
        "docker run -u 1000:1000 -u app:staff",
        "use --password to set it, --token option",
        "postgres://user:${PASSWORD}@db/x",
        "postgres://user:<password>@db/x",
        "private_key_path: /etc/ssl/key1.pem",
        "private_key: /etc/ssl/key1.pem",
        "AKIAIOSFODNN7EXAMPLELONGER",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
        "password: [redacted:password]",
        "token=[redacted:github-token]",
        "x://u:[redacted:password]@h",
    ] {
        assert!(matches!(redact(plain), Cow::Borrowed(p) if p == plain), "{plain} -> {}", redact(plain));
    }
}

/// Each row of the table, with the shortest body that it accepts.
#[test]
fn every_token_goes() {
    for token in token::TOKENS {
        let body = body(token);
        let secret = format!("{}{body}", token.prefix);
        for (before, after) in
            [("", ""), ("key ", " end"), ("(", ")"), ("\"", "\""), ("x=", ";"), ("_", "\n")]
        {
            let clean = redact(&format!("{before}{secret}{after}")).into_owned();
            assert!(clean.contains(MARK) && !clean.contains(&body), "{secret}: {clean}");
            assert!(clean.starts_with(before) && clean.ends_with(after), "{clean}");
        }
        let short = format!("{}{}", token.prefix, &body[..token.least / 2]);
        assert!(!redact(&short).contains(token.name), "{short} is too short");
    }
}

fn body(token: &token::Token) -> String {
    let letters = match token.of {
        token::Of::Hex => "0a1b2c3d4e5f",
        token::Of::Upper => "0A1B2C3D4E5F",
        token::Of::Jwt => "hbGciOiJI.eyJzdWIiOiIx",
        _ => "a1Bc2De3Fg4H",
    };
    letters.chars().cycle().take(token.least).collect()
}

#[test]
fn rows_are_in_order() {
    for (n, row) in token::TOKENS.iter().enumerate() {
        assert!(row.prefix.len() >= 2 && row.least >= 16, "{} proves too little", row.prefix);
        let hidden = token::TOKENS[..n]
            .iter()
            .find(|other| row.prefix.starts_with(other.prefix) && row.prefix != other.prefix);
        assert!(
            hidden.is_none_or(|other| other.of != row.of && other.least > 16 || other.prefix.len() < 4),
            "{} is hidden",
            row.prefix
        );
    }
}

#[test]
fn a_name_can_say_it() {
    assert_eq!(redact_under("password", "hunter2"), "[redacted:password]");
    assert_eq!(redact_under("apiKey", "k1k2k3k4"), "[redacted:secret]");
    assert_eq!(redact_under("command", "hunter2"), "hunter2");
    assert_eq!(redact_under("password", "it is: password=hunter2"), "it is: password=[redacted:password]");
    assert_eq!(redact_under("token", "[redacted:secret]"), "[redacted:secret]");
}

#[test]
fn secrets_that_are_joined_all_go() {
    let clean = redact("Basic dXNlcjpwYXNz-----BEGIN RSA PRIVATE KEY-----");
    assert_eq!(clean, "Basic [redacted:basic-auth][redacted:private-key]");
}
