import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * What Java and Kafka say of names, key stores and trust stores: one command a line, with tabs, and one line as answer.
 *
 * name DER                                 X500Principal.getName(), as Base64
 * supers TEXT                              super.users as StandardAuthorizer reads it, each as Base64
 * load KEYSTORE TRUSTSTORE                 Kafka's engine factory with these files; "-" for none
 * asks SERVER KEYSTORE TRUSTSTORE          Kafka's own client asks a real broker for its cluster; "-" for no key store
 * handshake KS TS CLIENT_KS CLIENT_TS HOST  mutual TLS between two engines of Kafka's; the client's name as the server has it
 */
public class Pki {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // the log of Kafka's client
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "ok\t" + answer(line.split("\t", -1));
            } catch (Throwable error) {
                answer = "no\t" + words(error);
            }
            out.println(answer.replace('\n', ' '));
            out.flush();
        }
    }

    private static String answer(String[] parts) throws Exception {
        switch (parts[0]) {
            case "name":
                return encoded(new X500Principal(Base64.getDecoder().decode(parts[1])).getName());
            case "supers":
                return supers(new String(Base64.getDecoder().decode(parts[1]), StandardCharsets.UTF_8));
            case "load":
                factory(parts[1], parts[2]);
                return "";
            case "asks":
                return asks(parts[1], parts[2], parts[3]);
            default:
                return handshake(factory(parts[1], parts[2]), factory(parts[3], parts[4]), parts[5]);
        }
    }

    private static String supers(String text) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        Method method = type.getDeclaredMethod("getConfiguredSuperUsers", Map.class);
        method.setAccessible(true);
        List<String> found = new ArrayList<>();
        for (Object each : (Set<?>) method.invoke(null, Map.of("super.users", text))) {
            found.add(encoded(each.toString()));
        }
        return String.join(",", found);
    }

    private static String asks(String server, String keystore, String truststore) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", server);
        config.put("security.protocol", "SSL");
        config.put("default.api.timeout.ms", "20000");
        config.put("request.timeout.ms", "10000");
        putStore(config, "keystore", keystore);
        putStore(config, "truststore", truststore);
        try (Admin admin = Admin.create(config)) {
            return encoded(admin.describeCluster().clusterId().get(30, TimeUnit.SECONDS));
        }
    }

    private static void putStore(Map<String, Object> config, String kind, String path) {
        if (!path.equals("-")) {
            config.put("ssl." + kind + ".type", "PEM");
            config.put("ssl." + kind + ".location", path);
        }
    }

    private static DefaultSslEngineFactory factory(String keystore, String truststore) {
        Map<String, Object> config = new HashMap<>();
        config.put("ssl.protocol", "TLSv1.3");
        config.put("ssl.enabled.protocols", List.of("TLSv1.2", "TLSv1.3"));
        config.put("ssl.cipher.suites", List.of());
        config.put("ssl.keymanager.algorithm", "SunX509");
        config.put("ssl.trustmanager.algorithm", "PKIX");
        config.put("ssl.client.auth", "required");
        putStore(config, "keystore", keystore);
        putStore(config, "truststore", truststore);
        DefaultSslEngineFactory factory = new DefaultSslEngineFactory();
        factory.configure(config);
        return factory;
    }

    private static String handshake(DefaultSslEngineFactory of, DefaultSslEngineFactory by, String host) throws Exception {
        SSLEngine server = of.createServerSslEngine("client", 0);
        SSLEngine client = by.createClientSslEngine(host, 9093, "https");
        ByteBuffer toServer = ByteBuffer.allocate(1 << 18);
        ByteBuffer toClient = ByteBuffer.allocate(1 << 18);
        client.beginHandshake();
        server.beginHandshake();
        for (int round = 0; round < 200; round++) {
            step(client, toClient, toServer);
            step(server, toServer, toClient);
            boolean idle = toServer.position() == 0 && toClient.position() == 0;
            if (idle && done(client) && done(server)) {
                return encoded(server.getSession().getPeerPrincipal().getName());
            }
        }
        throw new IllegalStateException("no end of the handshake");
    }

    private static boolean done(SSLEngine engine) {
        HandshakeStatus status = engine.getHandshakeStatus();
        return status == HandshakeStatus.NOT_HANDSHAKING || status == HandshakeStatus.FINISHED;
    }

    private static void step(SSLEngine engine, ByteBuffer in, ByteBuffer out) throws Exception {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
        ByteBuffer data = ByteBuffer.allocate(1 << 18);
        in.flip();
        if (in.hasRemaining()) {
            engine.unwrap(in, data);
        }
        in.compact();
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
        if (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
            engine.wrap(ByteBuffer.allocate(0), out);
        }
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String words(Throwable error) {
        StringBuilder all = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            all.append(each.getClass().getSimpleName()).append(": ").append(each.getMessage()).append(" | ");
        }
        return all.toString();
    }
}
