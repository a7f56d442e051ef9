//! The page, which is the same for everybody: what it shows comes from the gateway, with a token.

use super::reply::Reply;
use crate::request::is_name;

/// The file at this path.
pub(super) fn file(path: &str) -> Option<Reply> {
    let of = |kind, text| Some(Reply::file(kind, text));
    match path {
        "/style.css" => of("text/css; charset=utf-8", include_str!("page/style.css")),
        "/page.js" => of("text/javascript; charset=utf-8", include_str!("page/page.js")),
        "/ask.js" => of("text/javascript; charset=utf-8", include_str!("page/ask.js")),
        "/" | "/login" => of("text/html; charset=utf-8", include_str!("page/page.html")),
        _ => {
            path.strip_prefix("/runs/").filter(|run| is_name(run))?;
            of("text/html; charset=utf-8", include_str!("page/page.html"))
        }
    }
}
