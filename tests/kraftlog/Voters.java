import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.common.Uuid;

/** Changes voters: `BOOTSTRAP add ID DIRECTORY PORT` or `BOOTSTRAP remove ID DIRECTORY`; Kafka 3.9 and later. */
public class Voters {
    public static void main(String[] arguments) throws Exception {
        int id = Integer.parseInt(arguments[2]);
        Uuid directory = Uuid.fromString(arguments[3]);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            if (arguments[1].equals("remove")) {
                admin.removeRaftVoter(id, directory).all().get();
            } else {
                var endpoint = new RaftVoterEndpoint("CONTROLLER", "127.0.0.1", Integer.parseInt(arguments[4]));
                admin.addRaftVoter(id, directory, Set.of(endpoint)).all().get();
            }
        }
    }
}
