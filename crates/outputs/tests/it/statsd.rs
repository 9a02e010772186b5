//! StatsD and DogStatsD, as they come out of a socket.

use std::net::UdpSocket;

use crate::fixtures;

/// All lines that one second makes.
fn lines(kind: &str) -> Vec<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let delivery = fixtures::send(&format!("{kind}={}", socket.local_addr().expect("an address")), "r1", 1);
    assert_eq!((delivery.delivered, delivery.lost), (1, 0), "{delivery:?}");
    // What was sent over loopback has arrived.
    socket.set_nonblocking(true).expect("a socket");
    let (mut buffer, mut lines) = ([0; 2000], Vec::new());
    while let Ok(length) = socket.recv(&mut buffer) {
        lines.extend(std::str::from_utf8(&buffer[..length]).expect("UTF-8").lines().map(str::to_owned));
    }
    lines
}

#[test]
fn plain_statsd_carries_everything_in_its_names() {
    let lines = lines("statsd");
    for line in [
        "loadstone.Buy.GET__a__b__c_d_.requests.passed:99|c",
        "loadstone.Buy.GET__a__b__c_d_.requests.status:1|c",
        "loadstone.Buy.GET__a__b__c_d_.response_time.max:0.1|g",
        "loadstone.Buy.iterations.passed:99|c",
        "loadstone.Buy.users_active:7|g",
        "loadstone.Delivery.flow_time.max:0.02|g",
        "loadstone.postgres.memory.signal:1000000|g",
        "loadstone.Orders.metric.sum:4.5|c",
        "loadstone.Orders.country_DE.metric.sum:1.5|c",
        "loadstone.Order_value.metric.max:5|g",
        "loadstone.Order_value.metric.min:-2.5|g",
    ] {
        assert!(lines.iter().any(|sent| sent == line), "no {line} in {lines:#?}");
    }
    let sessions: Vec<_> = lines.iter().filter(|line| line.contains("sessions")).collect();
    let name = "loadstone.postgres.sessions.wait_Lock_tuple.signal";
    assert_eq!(sessions, [&format!("{name}:0|g"), &format!("{name}:-1|g")], "a negative level is set, not subtracted");
}

#[test]
fn dogstatsd_carries_tags() {
    let lines = lines("dogstatsd");
    let wanted = "loadstone.requests:1|c|#scenario:Buy,name:GET /a_ b=\"c d\",outcome:status,run:r1,test:Shop";
    assert!(lines.iter().any(|sent| sent == wanted), "no {wanted} in {lines:#?}");
    let wanted = "loadstone.signal:-1|g|#observer:postgres,signal:sessions,series:wait=Lock:tuple,unit:sessions,run:r1,test:Shop";
    assert!(lines.iter().any(|sent| sent == wanted), "no {wanted} in {lines:#?}");
    let wanted = "loadstone.metric.sum:1.5|c|#metric:Orders,unit:EUR,tags:country=DE,run:r1,test:Shop";
    assert!(lines.iter().any(|sent| sent == wanted), "no {wanted} in {lines:#?}");
    assert!(lines.iter().all(|line| line.split('|').count() == 3), "{lines:#?}");
}
