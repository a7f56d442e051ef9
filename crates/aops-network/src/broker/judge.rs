//! Judges a new connection by its address and its first bytes.
//!
//! Invariants: a connection to an address goes to the host that it names, never to the address itself; a name
//! in its bytes must be the one that was looked up.

use super::connection::{Connection, FIRST_BYTES, Role, Stage, Tone};
use super::dial::ALL;
use super::state::{Broker, Door, Next, PROXY};
use crate::hello::{self, BadHello, Hello};
use crate::hosts_file;
use crate::list::{Mode, Pass, Verdict};
use crate::name::Name;
use crate::proxy::Proxies;
use crate::request::{self, BadRequest, CONNECTED, Plain, Request, Way};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

const TLS: u16 = 443;
const HTTP: u16 = 80;

impl Broker<'_> {
    /// A client connected to this door.
    pub(super) fn accept(&mut self, near: TcpStream, door: Door) {
        let Ok(at) = near.local_addr() else { return };
        // A port of this machine, reached through a door for every address.
        let door = match door {
            Door::Everywhere(port)
                if at.ip() == Ipv4Addr::LOCALHOST && self.local_ports().contains(&port) =>
            {
                Door::Local(port)
            }
            Door::Everywhere(port) if self.is_proxy(at.ip(), port) => Door::Proxy,
            other => other,
        };
        let id = self.number();
        if near.set_nonblocking(true).is_err() || self.watch(&near, id, ALL).is_err() {
            return;
        }
        let role = match door {
            Door::Everywhere(_) | Door::Proxy => Role::Judged,
            Door::Local(_) => Role::Local,
            Door::Served(_) => Role::Served,
        };
        let mut connection = Connection::new(near, role, at.ip(), at.port());
        if let IpAddr::V4(address) = at.ip() {
            connection.name =
                self.names.name_at(address).cloned().filter(|_| role == Role::Judged && door != Door::Proxy);
        }
        let next = self.enter(id, &mut connection, door);
        self.put_back(id, connection, next);
    }

    /// Programs with the person's proxy in their settings reach us in its place; and there is one on the
    /// loopback for those that are configured for it.
    fn is_proxy(&self, at: IpAddr, port: u16) -> bool {
        let name = match at {
            IpAddr::V4(address) => self.names.name_at(address).map(Name::as_str),
            IpAddr::V6(_) => None,
        };
        let is_this = |host: &str| {
            name == Some(host) || host.parse() == Ok(at) || host == "localhost" && at.is_loopback()
        };
        let mut known = self.outside.proxies.iter().flat_map(Proxies::all);
        port == PROXY && at == Ipv4Addr::LOCALHOST
            || known.any(|proxy| proxy.port == port && is_this(&proxy.host))
    }

    fn enter(&mut self, id: u64, connection: &mut Connection, door: Door) -> Next {
        match door {
            Door::Proxy => self.listen_for(id, connection, Stage::Request(Way::Proxy)),
            // Whatever it speaks, also if the server speaks first.
            Door::Everywhere(TLS | HTTP) if self.only_notes(connection) && !self.has_proxies() => {
                self.judge_address(id, connection)
            }
            Door::Everywhere(TLS) => self.listen_for(id, connection, Stage::Hello),
            Door::Everywhere(HTTP) => self.listen_for(id, connection, Stage::Request(Way::Direct(HTTP))),
            Door::Everywhere(_) => self.judge_address(id, connection),
            Door::Local(port) => {
                // A server on this machine may listen on only one of the two.
                let both: [SocketAddr; 2] =
                    [(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()];
                connection.stage = Stage::Dialling(both.to_vec());
                if self.machine.contains(&port) {
                    let now = self.now();
                    self.counts.passed(&connection.host(), port, Pass::Observed, now);
                    self.changed(false);
                }
                self.dial(id, connection)
            }
            // Many servers listen on only one of the two.
            Door::Served(port) => {
                let both: [SocketAddr; 2] =
                    [(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()];
                connection.stage = Stage::Dialling(both.to_vec());
                self.dial(id, connection)
            }
        }
    }

    /// The mode refuses nothing, and the name that was looked up is enough to go on with.
    pub(super) fn only_notes(&self, connection: &Connection) -> bool {
        self.list.mode == Mode::Observe && connection.name.is_some()
    }

    fn has_proxies(&self) -> bool {
        self.outside.proxies.as_ref().map_or(true, |proxies| proxies.all().next().is_some())
    }

    /// Goes to the name that was looked up, whatever the bytes say.
    pub(super) fn pass_unread(&mut self, id: u64, connection: &mut Connection) -> Next {
        connection.up.first = std::mem::take(&mut connection.read);
        self.judge_address(id, connection)
    }

    fn listen_for(&mut self, id: u64, connection: &mut Connection, stage: Stage) -> Next {
        connection.tone = if matches!(stage, Stage::Hello) { Tone::Tls } else { Tone::Http };
        connection.stage = stage;
        connection.wait_for(FIRST_BYTES);
        self.first_bytes(id, connection)
    }

    /// We know nothing about the protocol at this port, so the name is that of the made-up address.
    fn judge_address(&mut self, id: u64, connection: &mut Connection) -> Next {
        connection.tone = Tone::Bare;
        let name = connection.name.take().or_else(|| self.name_in_table(connection.address, connection.port));
        let Some(name) = name else {
            return self.refuse(connection, "it is an address, not a name", "");
        };
        connection.name = Some(name.clone());
        match self.list.judge(&name, connection.port) {
            Verdict::Pass(on) => self.begin(id, connection, name, on),
            Verdict::Refuse(refusal) => self.refuse_listed(connection, refusal),
        }
    }

    /// The name that this machine's table gives to the address; one that is listed, if there are several.
    fn name_in_table(&self, address: IpAddr, port: u16) -> Option<Name> {
        let mut names = hosts_file::names_of(address);
        let listed = names.iter().position(|name| matches!(self.list.judge(name, port), Verdict::Pass(_)));
        (!names.is_empty()).then(|| names.swap_remove(listed.unwrap_or_default()))
    }

    pub(super) fn first_bytes(&mut self, id: u64, connection: &mut Connection) -> Next {
        let ended = connection.fill();
        let judged = match connection.stage {
            Stage::Hello => {
                hello::read(&connection.read).map(|hello| self.judge_hello(id, connection, hello))
            }
            Stage::Request(way) => request::read(&connection.read, way)
                .map(|request| self.judge_request(id, connection, request)),
            _ => None,
        };
        match judged {
            Some(next) => next,
            None if !ended => Next::Wait,
            // Opened and closed, as by programs that only check whether somebody listens.
            None if connection.read.is_empty() => Next::Close,
            None => self.refuse(connection, "it ended before it named its host", ""),
        }
    }

    fn judge_hello(&mut self, id: u64, connection: &mut Connection, hello: Result<Hello, BadHello>) -> Next {
        let Hello { name, hides_one } = match hello {
            Ok(hello) => hello,
            Err(_) if self.only_notes(connection) => return self.pass_unread(id, connection),
            Err(bad) => return self.refuse(connection, &bad.to_string(), ""),
        };
        match &connection.name {
            Some(expected) if *expected != name && self.only_notes(connection) => {
                return self.pass_unread(id, connection);
            }
            Some(expected) if *expected != name => {
                return self.refuse(connection, &format!("the TLS hello names `{name}`"), "");
            }
            Some(_) => {}
            None => connection.name = Some(name.clone()),
        }
        if hides_one && !self.list.ech && self.list.mode != Mode::Observe {
            return self.refuse(connection, "the TLS hello hides a second name", "");
        }
        match self.list.judge(&name, connection.port) {
            Verdict::Pass(on) => {
                connection.up.first = std::mem::take(&mut connection.read);
                self.begin(id, connection, name, on)
            }
            Verdict::Refuse(refusal) => self.refuse_listed(connection, refusal),
        }
    }

    fn judge_request(
        &mut self,
        id: u64,
        connection: &mut Connection,
        read: Result<Request, BadRequest>,
    ) -> Next {
        match read {
            Err(_) if self.only_notes(connection) => self.pass_unread(id, connection),
            Err(bad) => self.refuse_with(connection, bad.status(), &bad.to_string(), ""),
            Ok(Request::Plain(plain)) => self.judge_plain(id, connection, plain),
            Ok(Request::Connect { name, port, head }) => {
                let early = connection.read.len() > head;
                connection.name = Some(name.clone());
                connection.port = port;
                match self.list.judge(&name, port) {
                    Verdict::Refuse(refusal) => self.refuse_listed(connection, refusal),
                    Verdict::Pass(_) if early => {
                        self.refuse(connection, "data came before the tunnel was open", "")
                    }
                    Verdict::Pass(_) => self.open_tunnel(id, connection),
                }
            }
        }
    }

    /// A request inside the tunnel is judged as if it had come without the proxy.
    fn open_tunnel(&mut self, id: u64, connection: &mut Connection) -> Next {
        connection.read.clear();
        if (&connection.near).write_all(CONNECTED).is_err() {
            return Next::Close;
        }
        match connection.port {
            TLS => self.listen_for(id, connection, Stage::Hello),
            HTTP => self.listen_for(id, connection, Stage::Request(Way::Direct(HTTP))),
            _ => self.judge_address(id, connection),
        }
    }

    fn judge_plain(&mut self, id: u64, connection: &mut Connection, plain: Plain) -> Next {
        let Plain { name, port, head, ours, mut body } = plain;
        match &connection.name {
            Some(expected) if *expected != name && self.only_notes(connection) => {
                return self.pass_unread(id, connection);
            }
            Some(expected) if *expected != name => {
                return self.refuse(connection, &format!("the request names `{name}`"), "");
            }
            Some(_) => {}
            None => connection.name = Some(name.clone()),
        }
        connection.port = port;
        let on = match self.list.judge(&name, port) {
            Verdict::Pass(on) => on,
            Verdict::Refuse(refusal) => return self.refuse_listed(connection, refusal),
        };
        let rest = &connection.read[head..];
        let Ok(taken) = body.take(rest) else {
            return self.refuse_with(
                connection,
                BadRequest::Body.status(),
                &BadRequest::Body.to_string(),
                "",
            );
        };
        connection.up.first = [&ours, &rest[..taken]].concat();
        connection.up.body = Some(body);
        connection.down.head = Some(Vec::new());
        connection.read = Vec::new();
        self.begin(id, connection, name, on)
    }
}
