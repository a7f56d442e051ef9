//! Serves handlers to the engine over HTTP/2, encrypted where the port has a certificate.
//!
//! Listens. The SDK's own server speaks only plain HTTP/2.

use crate::port::Port;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use restate_sdk::endpoint::Builder;
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::prelude::HttpServer;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// How long a caller has to prove that it speaks TLS.
const GREETING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// Never returns unless it fails.
pub(super) async fn serve(mut endpoint: Builder, port: &Port) -> Result<(), String> {
    if let Some(key) = &port.identity {
        endpoint = endpoint.identity_key(key).map_err(|error| format!("the server's key: {error}"))?;
    }
    let endpoint = endpoint.build();
    let listener =
        TcpListener::bind(port.listen).await.map_err(|error| format!("`{}`: {error}", port.listen))?;
    let Some(certificate) = &port.certificate else {
        HttpServer::new(endpoint).serve(listener).await;
        return Ok(());
    };
    let endpoint = HyperEndpoint::new(endpoint);
    loop {
        // Read for each of the few connections: a renewed certificate needs no restart.
        let (Ok((stream, _)), Ok(config)) = (listener.accept().await, certificate.read()) else {
            sleep(PAUSE).await;
            continue;
        };
        let endpoint = endpoint.clone();
        tokio::spawn(async move {
            if let Ok(Ok(stream)) = timeout(GREETING, TlsAcceptor::from(config).accept(stream)).await {
                let serving = http2::Builder::new(TokioExecutor::new());
                let _ = serving.serve_connection(TokioIo::new(stream), endpoint).await;
            }
        });
    }
}
