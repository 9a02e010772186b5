package tickets;

import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.*;
import io.gatling.javaapi.http.*;
import java.time.Duration;

/** The same test as validation.load.ts, for Gatling: mvn gatling:test -Dgatling.simulationClass=tickets.ValidationSimulation */
public class ValidationSimulation extends Simulation {

  static final int VALIDATORS = Integer.getInteger("validators", 3400);
  static final int TAPS_PER_MINUTE = Integer.getInteger("tapsPerMinute", 25);
  static final Duration RUN_TIME = Duration.ofSeconds(Integer.getInteger("runTimeSeconds", 120));
  static final Duration RAMP_UP = Duration.ofSeconds(Integer.getInteger("rampUpSeconds", 30));

  FeederBuilder<String> barcodes = csv("../../barcodes.csv").circular();

  HttpProtocolBuilder protocol = http.wsBaseUrl(System.getProperty("target", "ws://127.0.0.1:8081")).wsReconnect();

  ChainBuilder connect = exec(
      ws("Connect").connect("/validate/json/v1")
          .onConnected(exec(
              ws("Init").sendText("init\n{\"validator\":\"validator-#{userId}\"}")
                  .await(30).on(ws.checkTextMessage("Init response").check(regex("^init-response"))))));

  ChainBuilder tap = group("Tap").on(exec(
      ws("Tap response").sendText(ElFileBody("tap.txt"))
          .await(5).on(ws.checkTextMessage("Tap answered")
              .matching(regex("(?m)^tap-response"))
              .check(
                  regex("\"access\" *: *(true|false)").is("true").saveAs("access"),
                  regex("\"ticket\" *: *\"([^\"]*)\"").saveAs("ticket")))));

  ChainBuilder notify = exec(ws("Notify").sendText(ElFileBody("notify.txt")));

  ScenarioBuilder validator = scenario("Validator")
      .exec(session -> session.set("userId", session.userId()))
      .exec(connect)
      .during(RUN_TIME).on(
          pace(Duration.ofMillis(60_000 / TAPS_PER_MINUTE))
              .feed(barcodes)
              .exec(tap)
              .exec(notify))
      .exec(ws("Close").close());

  {
    setUp(validator.injectOpen(rampUsers(VALIDATORS).during(RAMP_UP)))
        .protocols(protocol)
        .assertions(
            details("Tap", "Tap answered").allRequests().count().gte(1000L),
            details("Tap", "Tap answered").responseTime().max().lte(500),
            details("Tap", "Tap answered").responseTime().percentile(99.0).lt(50),
            global().successfulRequests().percent().is(100.0));
  }
}
