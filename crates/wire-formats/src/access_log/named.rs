//! Formats that servers and services write by default, by name.

use super::pattern::{self, FormatPart, InstantForm, LogField, MILLISECOND_NS};

/// A format that needs no pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NamedFormat {
    pub(super) name: &'static str,
    /// The last field takes the rest of the line, unless the pattern ends with text.
    pattern: &'static str,
    /// Dates have fractions of a second.
    pub(super) has_fractions: bool,
    /// More fields at the end of a line are ignored.
    pub(super) allows_more: bool,
    /// Files arrive minutes after their requests.
    pub(super) arrives_later: bool,
}

const fn named(name: &'static str, pattern: &'static str) -> NamedFormat {
    NamedFormat { name, pattern, has_fractions: true, allows_more: false, arrives_later: false }
}

pub(super) const FORMATS: [NamedFormat; 7] = [
    NamedFormat {
        has_fractions: false,
        allows_more: true,
        ..named("common", r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#)
    },
    NamedFormat {
        has_fractions: false,
        allows_more: true,
        ..named(
            "combined",
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
        )
    },
    // https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage#default-format-string
    named("envoy", r#"%t "%r" %>s %l %I %O %{ms}T %l"#),
    // https://istio.io/latest/docs/tasks/observability/logs/access-log/#default-access-log-format
    named("istio", r#"%t "%r" %>s %l %l %l "%l" %I %O %{ms}T %l"#),
    // `option httplog` of HAProxy 2.x, with or without the header of syslog: https://docs.haproxy.org/2.8/configuration.html#8.2.3
    named(
        "haproxy",
        r#"$client [$accept_date] $frontend $server $TR/$Tw/$Tc/$Tr/$Ta $status $bytes_sent $cc $cs $termination $connections $queues "$request""#,
    ),
    // https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html
    NamedFormat {
        arrives_later: true,
        ..named(
            "alb",
            concat!(
                r#"$type $time_iso8601 $elb $client $target $tr $tt $ts $status $target_status $request_length $bytes_sent "$request" "$agent" "#,
                r#"$cipher $tls $group "$trace" "$domain" "$certificate" $priority $request_creation_time $more"#,
            ),
        )
    },
    // https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html
    NamedFormat {
        has_fractions: false,
        arrives_later: true,
        ..named(
            "cloudfront",
            concat!(
                "$date\t$time\t$edge\t$bytes_sent\t$ip\t$request_method\t$distribution\t$uri\t$status\t$referer\t$agent\t$args\t$cookie\t$result\t",
                "$id\t$host\t$protocol\t$request_length\t$request_time\t$more",
            ),
        )
    },
];

impl NamedFormat {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    pub(super) fn parts(&self) -> Result<Vec<FormatPart>, String> {
        if self.pattern.contains('$') { Ok(pattern::variables(self.pattern, field)) } else { pattern::apache(self.pattern) }
    }
}

/// Fields that nginx does not have.
fn field(name: &str) -> Option<LogField> {
    Some(match name {
        "accept_date" | "request_creation_time" => LogField::Begin(InstantForm::Date),
        "date" => LogField::Day,
        "time" => LogField::EndOfDay,
        "Ta" => LogField::Duration(MILLISECOND_NS),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{LogFormat, TimeReader};

    /// Method, target, status, begin and duration.
    type ReadLine = (String, String, Option<u16>, i64, Option<u64>);

    fn read(format: &str, line: &str) -> Option<ReadLine> {
        let format = LogFormat::parse(format).unwrap();
        let line = format.line(line, &mut TimeReader::default())?;
        Some((line.method.to_owned(), line.whole_target(), line.status, line.began()?.ns, line.duration()))
    }

    const MS: u64 = 1_000_000;

    /// An entry for HTTP of the documentation, and one whose target did not respond.
    #[test]
    fn lines_of_an_application_load_balancer() {
        let line = concat!(
            r#"http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 "#,
            r#"34 366 "GET http://www.example.com:80/orders?id=3 HTTP/1.1" "curl/7.46.0" - - "#,
            r#"arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "#,
            r#""Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-" "#,
            r#"TID_1234abcd5678ef90"#,
        );
        // date -u -d 2018-07-02T22:22:48Z +%s
        let began_ns = 1_530_570_168_364_000_000;
        let expected = ("GET".to_owned(), "http://www.example.com:80/orders?id=3".to_owned(), Some(200), began_ns, Some(11_822_641_000));
        assert_eq!(read("alb", line), Some(expected));
        let refused = line.replace("0.000 0.001 0.000 200 200", "-1 -1 -1 502 -").replace("10.0.0.1:80 ", "- ");
        assert_eq!(read("alb", &refused).unwrap().2, Some(502));
    }

    #[test]
    fn lines_of_cloudfront() {
        let line = concat!(
            "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(X11)\ta=b\t",
            "-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms==\td111111abcdef8.cloudfront.net\thttps\t23\t0.250\t-\tTLSv1.2\tECDHE\tHit\tHTTP/2.0\t-\t-\t",
            "11040\t0.001\tHit\ttext/html\t78\t-\t-",
        );
        // date -u -d 2019-12-04T21:02:31Z +%s
        let ended_ns = 1_575_493_351_000_000_000_i64;
        let expected = ("GET".to_owned(), "/index.html?a=b".to_owned(), Some(200), ended_ns - 250_000_000, Some(250 * MS));
        assert_eq!(read("cloudfront", line), Some(expected));
        let format = LogFormat::parse("cloudfront").unwrap();
        assert!(format.is_comment("#Version: 1.0") && !format.is_comment(line) && format.has_whole_seconds() && format.arrives_later());
        // 000: the client closed the connection.
        assert_eq!(read("cloudfront", &line.replace("\t200\t", "\t000\t")).unwrap().2, Some(0));
    }

    /// The line of HAProxy's manual, with syslog's header and with captured headers, and one whose client left.
    #[test]
    fn lines_of_haproxy() {
        let line = concat!(
            r#"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - "#,
            r#"- ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#,
        );
        let (method, target, status, _, duration) = read("haproxy", line).unwrap();
        assert_eq!((method.as_str(), target.as_str(), status, duration), ("GET", "/index.html", Some(200), Some(109 * MS)));
        let left = r#"::1:33317 [06/Feb/2009:12:14:14.655] in app/<NOSRV> 0/-1/-1/-1/3002 -1 0 - - CR-- 1/1/0/0/0 0/0 "GET / HTTP/1.1""#;
        assert_eq!(read("haproxy", left).unwrap().2, Some(0));
        let second = |line: &str| read("haproxy", line).unwrap().3.rem_euclid(60_000_000_000);
        assert_eq!(second(line), 14_655_000_000);
    }
}
