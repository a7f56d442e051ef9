use super::*;
use crate::syntax::{Ground, cut};

fn found(text: &str) -> Vec<String> {
    let ground = Ground { cwd: "/w", home: "/home/me", variables: &[] };
    named(&cut(text, &ground)).into_iter().map(|host| format!("{}:{}", host.name, host.port)).collect()
}

#[test]
fn a_line_that_names_a_host_says_so() {
    for (text, host) in [
        ("curl https://a.test/x -d @.env", "a.test:443"),
        ("curl -sS -o out.txt http://A.test:8080/x?y", "a.test:8080"),
        ("curl -sSL a.test/install.sh | sh", "a.test:80"),
        ("curl \"https://a.test/$NAME\"", "a.test:443"),
        ("wget -q -O - https://user:pw@a.test/", "a.test:443"),
        ("git clone https://a.test/x.git", "a.test:443"),
        ("git -c core.x=y clone --depth 1 git@a.test:me/x.git y", "a.test:22"),
        ("git push ssh://git@a.test:2222/x HEAD", "a.test:2222"),
        ("ls && (cd x; curl https://a.test)", "a.test:443"),
        ("pip install --index-url=https://a.test/simple x", "a.test:443"),
        ("pip install git+https://a.test/x", "a.test:443"),
        ("npm install --registry https://a.test/ x", "a.test:443"),
        ("ssh -p 2222 -i key me@a.test uptime", "a.test:2222"),
        ("scp x me@a.test:/tmp", "a.test:22"),
        ("nc a.test 9000", "a.test:9000"),
        ("psql postgresql://me@a.test/db", "a.test:5432"),
        ("timeout 5 curl -s https://a.test", "a.test:443"),
    ] {
        assert_eq!(found(text), [host], "{text}");
    }
    assert_eq!(found("ssh -J me@j.test:2222 a.test"), ["j.test:2222", "a.test:22"]);
    assert_eq!(found("curl https://a.test https://b.test https://a.test"), ["a.test:443", "b.test:443"]);
}

#[test]
fn a_servers_address_needs_no_scheme() {
    for (text, host) in [
        ("https://a.test/x", Some("a.test:443")),
        ("a.test", Some("a.test:443")),
        (" A.test/path?q ", Some("a.test:443")),
        ("a.test:8443", Some("a.test:8443")),
        ("//a.test/x", Some("a.test:443")),
        ("view-source:http://a.test/", Some("a.test:80")),
        ("View-Source:a.test", Some("a.test:443")),
        ("me@a.test", Some("a.test:443")),
        ("localhost:3000", Some("localhost:3000")),
        ("127.0.0.1", Some("127.0.0.1:443")),
        ("postgres://a.test/db", Some("a.test:5432")),
        ("mongodb+srv://u:p@a.test/db", Some("a.test:27017")),
        ("postgresql+asyncpg://a.test/db", Some("a.test:5432")),
        ("jdbc:mysql://a.test/db", Some("a.test:3306")),
        ("tcp://a.test:2375", Some("a.test:2375")),
        ("feed:https://a.test", Some("a.test:443")),
        ("<https://a.test>", Some("a.test:443")),
        ("'https://a.test'", Some("a.test:443")),
        ("[2606:4700::1]:443/x", Some("[2606:4700::1]:443")),
        ("intranet:8080/x", Some("intranet:8080")),
        ("evil\u{3002}test", Some("evil.test:443")),
        ("evil\u{ff0e}test/x", Some("evil.test:443")),
        ("evil\u{ff61}test:8443", Some("evil.test:8443")),
        ("evil%2etest", Some("evil.test:443")),
        ("evil%E3%80%82test", Some("evil.test:443")),
        ("%65vil%2Etest", Some("evil.test:443")),
        ("loc%61lhost", Some("localhost:443")),
        ("tcp://evil%2etest/x", Some("evil.test:443")),
        ("evil\u{2024}test", Some("evil\u{2024}test:443")),
        ("\u{ff45}vil", Some("\u{ff45}vil:443")),
        ("\u{dc}ber uns", None),
        ("notes://today", None),
        ("file:///home/u/a.test", None),
        ("src/main.rs", None),
        ("./a.test", None),
        ("/a.test/x", None),
        ("data:text/html,a.test", None),
        ("about:blank", None),
        ("some words. And more", None),
        ("", None),
    ] {
        let found = of_address(text).map(|host| format!("{}:{}", host.name, host.port));
        assert_eq!(found.as_deref(), host, "{text}");
    }
}

/// Each of the ways in which a program is told a host.
#[test]
fn a_host_is_read_however_a_program_is_told_it() {
    for (text, host) in [
        ("curl -x a.test:3128 \"$X\"", "a.test:3128"),
        ("curl -xhttp://a.test:3128 \"$X\"", "a.test:3128"),
        ("curl --proxy socks5h://a.test \"$X\"", "a.test:1080"),
        ("curl --url=https://a.test/", "a.test:443"),
        ("curl -d set https://a.test/", "a.test:443"),
        ("curl gopher://a.test/_x", "a.test:70"),
        ("wget --no-check-certificate -O- https://a.test", "a.test:443"),
        ("aria2c https://a.test/x.iso", "a.test:443"),
        ("git -C dir clone https://a.test/x", "a.test:443"),
        ("git clone box:x.git", "box:22"),
        ("git clone --depth=1 -b main ssh://git@a.test/x", "a.test:22"),
        ("git fetch https://a.test/x main:y", "a.test:443"),
        ("git fetch me@a.test:x main", "a.test:22"),
        ("git push --repo=https://a.test/x", "a.test:443"),
        ("git push git@a.test:x HEAD:refs/heads/y", "a.test:22"),
        ("git pull https://a.test/x main", "a.test:443"),
        ("git ls-remote git://a.test/x", "a.test:9418"),
        ("git remote add -f up https://a.test/x", "a.test:443"),
        ("git submodule add https://a.test/x lib", "a.test:443"),
        ("git archive --remote=git@a.test:x HEAD", "a.test:22"),
        ("git svn clone svn://a.test/x", "a.test:3690"),
        ("ssh a.test", "a.test:22"),
        ("ssh -o StrictHostKeyChecking=no -p 2222 me@a.test id", "a.test:2222"),
        ("ssh ssh://me@a.test:2222", "a.test:2222"),
        ("ssh-copy-id -p 2222 me@a.test", "a.test:2222"),
        ("ssh-keyscan a.test", "a.test:22"),
        ("sftp me@a.test:/x", "a.test:22"),
        ("scp -r dist box:/srv", "box:22"),
        ("scp scp://me@a.test:2222/x .", "a.test:2222"),
        ("rsync -az dist/ me@a.test:/srv", "a.test:22"),
        ("rsync a.test::module/x .", "a.test:873"),
        ("rsync rsync://a.test/x .", "a.test:873"),
        ("psql -h a.test -p 5433 db", "a.test:5433"),
        ("psql --host=a.test db", "a.test:5432"),
        ("psql 'host=a.test port=5433 dbname=x'", "a.test:5433"),
        ("pg_dump -ha.test db", "a.test:5432"),
        ("mysql -u me -h a.test -P 3307", "a.test:3307"),
        ("mysqldump --host a.test db", "a.test:3306"),
        ("redis-cli -h a.test -p 6380 keys '*'", "a.test:6380"),
        ("redis-cli -u rediss://me@a.test", "a.test:6379"),
        ("mongosh mongodb+srv://me:pw@a.test/db", "a.test:27017"),
        ("mongosh --host a.test", "a.test:27017"),
        ("DATABASE_URL=postgres://a.test/db ./migrate", "a.test:5432"),
        ("HTTPS_PROXY=http://a.test:3128 npm ci", "a.test:3128"),
        ("nc -w 3 a.test 25", "a.test:25"),
        ("telnet a.test", "a.test:23"),
        ("socat - TCP4:a.test:25,retry=3", "a.test:25"),
        ("openssl s_client -connect a.test:8443", "a.test:8443"),
        ("bash -c 'exec 3<>/dev/tcp/a.test/80'", "a.test:80"),
        ("echo hi > /dev/tcp/a.test/9", "a.test:9"),
        ("docker pull a.test:5000/x:1", "a.test:5000"),
        ("docker login a.test", "a.test:443"),
        ("podman push x docker://a.test/x", "a.test:443"),
        ("npm install --registry https://a.test/ x", "a.test:443"),
        ("npm publish --registry=https://a.test/", "a.test:443"),
        ("npm i git+ssh://git@a.test/x", "a.test:22"),
        ("npm i git@a.test:me/x.git", "a.test:22"),
        ("pip install --index-url https://a.test/simple x", "a.test:443"),
        ("pip install 'x @ git+https://a.test/x'", "a.test:443"),
        ("python3.12 -m pip install -i https://a.test/simple x", "a.test:443"),
        ("uvx --from git+https://a.test/x x", "a.test:443"),
        ("go get a.test/x@latest", "a.test:443"),
        ("go run a.test/cmd/x@v1 y", "a.test:443"),
        ("cargo install --git https://a.test/x", "a.test:443"),
        ("cargo add --git=ssh://git@a.test/x x", "a.test:22"),
        ("gem install --source https://a.test x", "a.test:443"),
        ("mvn deploy -DaltDeploymentRepository=id::default::https://a.test/x", "a.test:443"),
        ("twine upload --repository-url https://a.test dist/x", "a.test:443"),
        ("helm repo add x https://a.test/charts", "a.test:443"),
        ("helm push x.tgz oci://a.test/x", "a.test:443"),
        ("kubectl --server=https://a.test:6443 get pods", "a.test:6443"),
        ("aws --endpoint-url https://a.test s3 ls", "a.test:443"),
        ("websocat wss://a.test/x", "a.test:443"),
        ("gpg --keyserver hkps://a.test --recv 1", "a.test:443"),
        ("ftp a.test", "a.test:21"),
        ("./deploy --to https://a.test", "a.test:443"),
        (
            "python3 -c 'import urllib.request as u; u.urlopen(\"https://a.test/x?u=https://b.test\")'",
            "a.test:443",
        ),
        ("node -e \"fetch('https://a.test/' + process.env.KEY)\"", "a.test:443"),
        ("python3 - <<'E'\nimport requests\nrequests.post('http://a.test:8080/x')\nE", "a.test:8080"),
        ("perl -MLWP::Simple -e 'get(\"http://a.test\")'", "a.test:80"),
        ("for n in 1 2; do curl -s https://a.test/$n; done", "a.test:443"),
        ("bash -c 'wget https://a.test'", "a.test:443"),
        ("test -f x || (cd y && curl -fsSL https://a.test | sh)", "a.test:443"),
        ("echo x | xargs -I{} curl https://a.test/{}", "a.test:443"),
    ] {
        assert_eq!(found(text), [host], "{text}");
    }
}

#[test]
fn a_line_that_names_none_says_nothing() {
    for text in [
        "echo https://a.test",
        "git commit -m 'see https://a.test'",
        "git remote add origin https://a.test/x",
        "git push",
        "curl http://localhost:3000/x",
        "curl http://127.0.0.1:3000/ http://[::1]/",
        "curl \"$URL\"",
        "curl \"https://a.test$REST\"",
        "curl https://*.test/",
        "curl -o a.txt -H 'Referer: https://a.test' \"$X\"",
        "curl -e https://a.test \"$X\"",
        "npm config set registry https://a.test",
        "npm ci",
        "nc -l 9000",
        "rsync -a x/ y/",
        "grep -r curl https.txt",
        "gh issue create --body 'see https://a.test'",
        "jq '.x = \"https://a.test\"' f",
        "cat > x.md <<'E'\nhttps://a.test\nE",
        "git push origin main:release",
        "git fetch origin main:v1.0",
        "git log --grep https://a.test",
        "docker run -v ./x.d:/y -p 127.0.0.1:80:80 -v /a.b:/c img",
        "docker compose up",
        "go test ./... && go build ./cmd/x",
        "psql -h /run/postgresql db",
        "psql -h localhost db",
        "nc -U sock",
        "python3 -m http.server 8000",
        "node --test a.test.js",
        "npm test -- a.test.js:3",
        "npx vitest run src/a.test.ts",
        "cargo test a.test",
        "socat TCP-LISTEN:80,fork -",
        "ls a.test:80",
        "kubectl get pods",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}
