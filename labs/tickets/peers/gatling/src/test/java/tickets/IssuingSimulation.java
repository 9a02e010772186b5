package tickets;

import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.*;
import io.gatling.javaapi.http.*;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** The same test as issuing.load.ts, for Gatling: mvn gatling:test -Dgatling.simulationClass=tickets.IssuingSimulation */
public class IssuingSimulation extends Simulation {

  static final int TRAVELLERS_PER_SECOND = Integer.getInteger("travellersPerSecond", 4);
  static final Duration RUN_TIME = Duration.ofSeconds(Integer.getInteger("runTimeSeconds", 60));
  static final Duration THINK_TIME = Duration.ofSeconds(1);
  /** Sessions are apart: what the set-up learns reaches the others through a variable. */
  static final AtomicInteger CHANNEL = new AtomicInteger();

  HttpProtocolBuilder protocol = http.baseUrl(System.getProperty("target", "http://127.0.0.1:8080"));

  ChainBuilder listProducts = exec(
      http("List products").get("/v1/channels/#{channel}/products")
          .check(status().is(200), jsonPath("$.products[*].id").findRandom().saveAs("product")));

  ChainBuilder showProduct = exec(
      http("Show product").get("/v1/channels/#{channel}/products/#{product}")
          .check(status().is(200), jsonPath("$.id").isEL("#{product}"), jsonPath("$.price_cents").ofInt().gt(0)));

  ChainBuilder createTicket = exec(
      http("Create ticket").post("/v1/tickets/create")
          .header("Content-Type", "application/json")
          .body(ElFileBody("ticket.json"))
          .check(status().is(201), jsonPath("$.state").is("created"), jsonPath("$.ticketId").saveAs("ticketId")));

  ChainBuilder activateTicket = exec(
      http("Activate ticket").post("/v1/tickets/#{ticketId}/activate")
          .check(status().is(200), jsonPath("$.state").is("active")));

  ChainBuilder getBarcode = exec(
      http("Get barcode").get("/v1/tickets/#{ticketId}/barcode")
          .check(status().is(200), regex("\"barcode\" *: *\"([\\w-]+\\.[\\w-]+)\"").saveAs("barcode")));

  ScenarioBuilder openChannel = scenario("Open a channel")
      .exec(http("Open a channel").post("/v1/channels")
          .header("Content-Type", "application/json")
          .body(StringBody("{\"name\":\"Load test\",\"products\":[\"OneHour\",\"OneDay\",\"OneWeek\"]}"))
          .check(status().is(201), jsonPath("$.channel").ofInt().saveAs("channel")))
      .exec(session -> {
        CHANNEL.set(session.getInt("channel"));
        return session;
      });

  ScenarioBuilder buyTicket = scenario("Buy a ticket")
      .exec(session -> session.set("channel", CHANNEL.get()))
      .exec(listProducts).pause(THINK_TIME)
      .exec(showProduct).pause(THINK_TIME)
      .group("Get a ticket").on(
          exec(createTicket).pause(THINK_TIME)
              .exec(activateTicket).pause(THINK_TIME)
              .exec(getBarcode));

  ScenarioBuilder closeChannel = scenario("Close the channel")
      .exec(session -> session.set("channel", CHANNEL.get()))
      .exec(http("Close the channel").delete("/v1/channels/#{channel}").check(status().is(204)));

  {
    setUp(
        openChannel.injectOpen(atOnceUsers(1))
            .andThen(buyTicket.injectOpen(constantUsersPerSec(TRAVELLERS_PER_SECOND).during(RUN_TIME))
                .andThen(closeChannel.injectOpen(atOnceUsers(1)))))
        .protocols(protocol)
        .assertions(
            global().allRequests().count().gte(1000L),
            global().responseTime().max().lte(1000),
            details("Get a ticket", "Get barcode").responseTime().max().lte(500),
            global().successfulRequests().percent().is(100.0));
  }
}
