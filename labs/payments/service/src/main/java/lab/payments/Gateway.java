package lab.payments;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/** The payment provider, which takes its time. */
@Component
class Gateway {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String url;

    Gateway(@Value("${GATEWAY_URL}") String url) {
        this.url = url;
    }

    /** Its reference of the authorisation. */
    String authorise(String key, String token, long amount) {
        String body = "{\"key\":\"%s\",\"token\":\"%s\",\"amount\":%d}".formatted(key, token, amount);
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/v1/authorise"))
                .header("content-type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body)).build();
        try {
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) throw new IllegalStateException("the gateway answered " + response.statusCode());
            return "reference-" + key;
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
