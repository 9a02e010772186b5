//! Whose code a frame of a JVM is: the system's own, or the JDK's, a library's or a framework's.
//!
//! A JVM does not report this. A list of packages suffices for applications. A product of the same makers as the libraries, such as Solr, has only frames of
//! listed packages: what is neither the JDK's nor certainly a library's is its own. Libraries have background threads that wait, though: a thread that waits
//! for time or a condition counts only if it serves a request.

/// Packages that are certainly the JDK's, a library's or a framework's.
const LIBRARIES: &[&str] = &[
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "jakarta.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "groovy.",
    "clojure.",
    "org.apache.avro.",
    "org.apache.axis.",
    "org.apache.catalina.",
    "org.apache.commons.",
    "org.apache.coyote.",
    "org.apache.curator.",
    "org.apache.cxf.",
    "org.apache.el.",
    "org.apache.groovy.",
    "org.apache.hc.",
    "org.apache.http.",
    "org.apache.ibatis.",
    "org.apache.jasper.",
    "org.apache.kafka.",
    "org.apache.log4j.",
    "org.apache.logging.",
    "org.apache.naming.",
    "org.apache.shiro.",
    "org.apache.thrift.",
    "org.apache.tomcat.",
    "org.apache.xerces.",
    "org.apache.zookeeper.",
    "org.codehaus.groovy.",
    "org.eclipse.jetty.",
    "org.eclipse.jersey.",
    "org.eclipse.microprofile.",
    "org.eclipse.persistence.",
    "org.springframework.",
    "org.hibernate.",
    "org.postgresql.",
    "org.mariadb.",
    "org.h2.",
    "org.jooq.",
    "org.mybatis.",
    "org.jboss.",
    "org.xnio.",
    "org.wildfly.",
    "org.glassfish.",
    "org.slf4j.",
    "org.reactivestreams.",
    "com.mysql.",
    "com.zaxxer.",
    "com.google.common.",
    "com.google.gson.",
    "com.google.inject.",
    "com.google.protobuf.",
    "com.fasterxml.",
    "com.mongodb.",
    "com.microsoft.sqlserver.",
    "com.amazonaws.",
    "com.mchange.",
    "software.amazon.",
    "oracle.jdbc.",
    "io.netty.",
    "io.undertow.",
    "io.vertx.",
    "io.micrometer.",
    "io.opentelemetry.",
    "io.grpc.",
    "io.lettuce.",
    "io.reactivex.",
    "io.dropwizard.",
    "io.quarkus.",
    "io.helidon.",
    "io.micronaut.",
    "io.smallrye.",
    "io.agroal.",
    "io.ktor.",
    "redis.clients.",
    "reactor.",
    "okhttp3.",
    "okio.",
    "akka.",
    "play.api.",
    "ch.qos.",
    "net.bytebuddy.",
];
/// Makers of both libraries and products.
const MAKERS: &[&str] = &["org.apache.", "org.eclipse.", "com.google.", "com.microsoft.", "com.netflix.", "oracle."];
/// Frames below which a thread serves a request.
const SERVERS: &[&str] = &[
    "javax.servlet.",
    "jakarta.servlet.",
    "org.eclipse.jetty.server.",
    "org.eclipse.jetty.servlet.",
    "org.apache.catalina.",
    "org.apache.coyote.",
    "io.undertow.server.",
    "io.undertow.servlet.",
    "io.grpc.internal.ServerImpl",
    "org.glassfish.grizzly.http.",
    "com.sun.net.httpserver.",
];

/// Which frames of a stack, innermost first, are the system's own code.
pub(super) struct OwnFrames {
    pub(super) are_own: Vec<bool>,
    /// Whether they may be those of a library's background thread.
    pub(super) may_be_background: bool,
}

pub(super) fn own_frames(frames: &[&str]) -> OwnFrames {
    let plain: Vec<String> = frames.iter().map(|frame| plain(frame)).collect();
    let is_of = |name: &str, packages: &[&str]| packages.iter().any(|package| name.starts_with(package));
    // Compiler-generated frames of a lambda add no information to the lambda's own frame.
    let is_generated = |frame: &str| frame.contains("$$") || frame.contains("LambdaForm");
    let is_outside_libraries = |index: usize| !is_generated(frames[index]) && !is_of(&plain[index], LIBRARIES);
    let is_applications = |index: usize| is_outside_libraries(index) && !is_of(&plain[index], MAKERS);
    let own = |is_own: &dyn Fn(usize) -> bool| (0..frames.len()).map(is_own).collect::<Vec<bool>>();
    let of_application = own(&is_applications);
    if of_application.contains(&true) {
        return OwnFrames { are_own: of_application, may_be_background: false };
    }
    let serves = plain.iter().any(|name| is_of(name, SERVERS));
    OwnFrames { are_own: own(&is_outside_libraries), may_be_background: !serves }
}

/// Removes the class loader before the class (`app//shop.Shop.buy`), and the suffix of generated classes (`shop.Shop$$Lambda$14/0x0000.handle`), whose
/// numbers differ from run to run.
pub(super) fn plain(frame: &str) -> String {
    let generated = frame.split_once("$$").or_else(|| frame.split_once("/0x"));
    let generated = generated.map(|(class, rest)| format!("{class}.{}", rest.rsplit('.').next().unwrap_or_default()));
    let frame = generated.as_deref().unwrap_or(frame);
    frame.rsplit('/').next().unwrap_or(frame).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_products_threads_that_serve_a_request_have_own_code_although_its_maker_publishes_libraries() {
        let frames = [
            "java.io.PrintStream.write",
            "org.apache.logging.log4j.core.appender.OutputStreamManager.writeToDestination",
            "org.apache.logging.slf4j.Log4jLogger.info",
            "org.apache.solr.core.SolrCore.execute",
            "org.apache.solr.servlet.HttpSolrCall.call",
            "org.eclipse.jetty.servlet.ServletHandler.doHandle",
            "java.lang.Thread.run",
        ];
        let own = own_frames(&frames);
        assert!(own.are_own == [false, false, false, true, true, false, false] && !own.may_be_background);
        // The same product below an application is a library.
        let embedded = ["org.apache.solr.core.SolrCore.execute", "shop.Search.find", "org.eclipse.jetty.servlet.ServletHandler.doHandle"];
        assert_eq!(own_frames(&embedded).are_own, [false, true, false]);
    }

    #[test]
    fn an_idle_thread_has_no_own_code_and_a_background_thread_is_recognised() {
        let idle = ["jdk.internal.misc.Unsafe.park", "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll", "java.lang.Thread.run"];
        assert_eq!(own_frames(&idle).are_own, [false; 3]);
        let background = ["java.lang.Object.wait", "org.apache.solr.update.CommitTracker.run", "java.lang.Thread.run"];
        assert!(own_frames(&background).may_be_background);
    }

    #[test]
    fn generated_classes_are_nobodys_code() {
        let frames =
            ["java.lang.invoke.LambdaForm$MH/0x00007f39800c9000.invoke", "shop.Shop$$Lambda$14/0x0000.handle", "app//shop.Shop.buy"];
        assert_eq!(own_frames(&frames).are_own, [false, false, true]);
        assert_eq!(frames.map(plain), ["java.lang.invoke.LambdaForm$MH.invoke", "shop.Shop.handle", "shop.Shop.buy"]);
    }
}
