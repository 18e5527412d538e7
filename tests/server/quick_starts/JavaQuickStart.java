import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

class JavaQuickStart {
  public static void main(String[] args) throws Exception {
    String body = "{\"model\": \"gpt-4o\", \"messages\": "
        + "[{\"role\": \"user\", \"content\": \"Say this is a test!\"}], \"stream\": %s}";
    HttpClient client = HttpClient.newHttpClient();
    for (String stream : new String[] {"false", "true"}) {
      HttpRequest request = HttpRequest.newBuilder()
          .uri(URI.create(System.getenv("OPENAI_BASE_URL") + "/chat/completions"))
          .header("Content-Type", "application/json")
          .header("Authorization", "Bearer " + System.getenv("OPENAI_API_KEY"))
          .POST(HttpRequest.BodyPublishers.ofString(body.formatted(stream)))
          .build();
      HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
      System.out.println(response.body());
      if (response.statusCode() != 200) System.exit(1);
    }
  }
}
