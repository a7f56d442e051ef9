use super::*;
use crate::syntax::{Ground, cut};

fn reaches_outside(text: &str) -> bool {
    let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
    outside(&cut(text, &ground))
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
        "git push",
        "git push -u origin main",
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
        assert!(reaches_outside(line), "{line}");
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
        "git push --dry-run origin other",
        "git commit -m push",
        "git fetch",
        "ls",
        "make deploy",
        "echo git push origin other",
        "",
    ] {
        assert!(!reaches_outside(line), "{line}");
    }
    assert!(reaches_outside("cd x && gh pr create --fill"));
}

#[test]
fn a_server_of_this_machine_is_asked() {
    let asks = |text: &str| asks_here(&cut(text, &Ground { cwd: "/w", home: "/home/me", variables: &[] }));
    for line in [
        "curl -s -X POST -d a=b http://localhost:8000/items | jq .",
        "curl -sS 127.0.0.1:3000/health",
        "curl -s -o /dev/null -w '%{http_code}' http://[::1]:8080/",
    ] {
        assert!(asks(line), "{line}");
    }
    for line in [
        "curl -s https://x.example/items",
        "curl -s \"$URL\"",
        "curl -s localhost:8000/items > items.json",
        "curl -s localhost:8000/items && make build",
        "echo localhost",
    ] {
        assert!(!asks(line), "{line}");
    }
}
