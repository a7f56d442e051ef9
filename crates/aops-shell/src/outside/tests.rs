use super::*;
use crate::syntax::{Ground, cut};

fn reached(text: &str) -> Option<String> {
    let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
    outside(&cut(text, &ground), &|push| push.is_own("main", Some("origin/main")))
}

#[test]
fn what_reaches_outside() {
    for line in [
        "gh pr create --fill",
        "gh issue comment 3 -b x",
        "gh -R a/b release create v1",
        "gh api repos -f a=b",
        "gh api -X DELETE repos/a",
        "glab mr create",
        "npm publish",
        "pnpm --dir x publish",
        "cargo publish",
        "cargo +nightly publish",
        "cargo yank --version 1.0.0 x",
        "twine upload dist/*",
        "gem push a.gem",
        "uv publish",
        "curl -X POST https://api.example.com",
        "curl -XDELETE https://example.com/x",
        "curl https://example.com -d a=b",
        "curl --data-binary @f https://example.com",
        "curl -T f ftp://example.com",
        "curl -F a=@b \"$URL\"",
        "curl --json '{}' https://x.example",
        "wget --post-data=a=b https://example.com",
        "wget --method=PUT https://example.com",
        "http POST example.com a=b",
        "scp a.txt me@host:/tmp",
        "rsync -a ./ host:site",
        "rsync a rsync://host/x",
        "ssh host uptime",
        "ssh -p 22 me@host",
        "sftp host",
        "docker push x/y",
        "docker buildx build --push .",
        "docker compose push",
        "kubectl apply -f x.yaml",
        "kubectl -n prod delete pod x",
        "helm upgrade a b",
        "terraform apply -auto-approve",
        "tofu destroy",
        "pulumi up",
        "aws s3 cp a s3://b",
        "aws --profile p ec2 terminate-instances --instance-ids i",
        "vercel",
        "gcloud run deploy x",
        "az webapp create",
        "fly deploy",
        "ansible-playbook site.yml",
        "mail -s x a@b.example",
        "semantic-release",
        "git push origin other",
        "git push fork",
        "git push --force",
        "git push --tags",
        "git push --mirror",
        "git push \"$R\" main",
        "git push https://github.com/a/b main",
        "git push origin :main",
        "sh -c 'npm publish'",
        "echo a && sudo docker push x",
        "git -C sub push other main",
    ] {
        assert!(reached(line).is_some(), "{line}");
    }
    for line in [
        "gh pr view 3",
        "gh pr list",
        "gh pr checkout 3",
        "gh repo clone a/b",
        "gh run watch 1",
        "gh auth status",
        "gh api repos/a/b",
        "gh --version",
        "npm install",
        "npm test",
        "npm publish --dry-run",
        "cargo test publish",
        "cargo build",
        "curl https://example.com",
        "curl -X GET https://example.com",
        "curl -G -d a=b https://x.example",
        "curl -X POST http://localhost:8080/x -d a=b",
        "curl -d a=b http://127.0.0.1:3000",
        "curl -d x '[::1]:80'",
        "wget https://example.com/a.tgz",
        "http example.com",
        "http GET example.com",
        "scp me@host:/tmp/a .",
        "rsync -a host:site ./",
        "rsync -a a/ b/",
        "ssh -V",
        "ssh localhost true",
        "docker build .",
        "docker ps",
        "docker run x push",
        "kubectl get pods",
        "kubectl -n prod logs x",
        "kubectl apply --dry-run=client -f x",
        "helm list",
        "terraform plan",
        "terraform show",
        "aws s3 ls",
        "aws ec2 describe-instances",
        "gcloud config list",
        "git push",
        "git push origin",
        "git push origin main",
        "git push -q origin HEAD",
        "git push origin HEAD:main",
        "git push -u origin main",
        "git push --dry-run origin other",
        "git commit -m push",
        "git fetch",
        "ls",
        "make deploy",
        "echo git push origin other",
        "",
    ] {
        assert_eq!(reached(line), None, "{line}");
    }
    assert_eq!(reached("cd x && gh pr create --fill").as_deref(), Some("gh pr create --fill"));
}

#[test]
fn a_push_to_the_branchs_own_upstream() {
    let push = |text: &str| {
        let words: Vec<Word> = text.split(' ').map(Word::of).collect();
        push(&words).unwrap().unwrap()
    };
    assert!(push("push -u origin topic").is_own("topic", None));
    assert!(!push("push origin topic").is_own("topic", None));
    assert!(push("push").is_own("topic", None));
    assert!(push("push origin topic:other").is_own("topic", Some("origin/other")));
    assert!(!push("push origin topic").is_own("topic", Some("origin/other")));
    assert!(!push("push fork").is_own("topic", Some("origin/topic")));
    assert_eq!(push("-C sub push").folder.as_deref(), Some("sub"));
}
