import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** Does to a cluster what fills a metadata log: `BOOTSTRAP basic TOPICS SCRAM` or `BOOTSTRAP feature NAME LEVEL`. */
public class Drive {
    public static void main(String[] arguments) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            if (arguments[1].equals("feature")) {
                var update = new FeatureUpdate(Short.parseShort(arguments[3]), FeatureUpdate.UpgradeType.UPGRADE);
                admin.updateFeatures(Map.of(arguments[2], update), new UpdateFeaturesOptions()).all().get();
                return;
            }
            topics(admin, Integer.parseInt(arguments[2]));
            acls(admin);
            quotas(admin);
            if (Boolean.parseBoolean(arguments[3])) {
                scram(admin);
            }
        }
    }

    private static void topics(Admin admin, int count) throws Exception {
        List<NewTopic> created = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            NewTopic topic = new NewTopic("orders-" + number, 1 + number % 5, (short) 1);
            created.add(number % 3 == 0 ? topic.configs(Map.of("retention.ms", "86400000")) : topic);
        }
        admin.createTopics(created).all().get();
        admin.createPartitions(Map.of("orders-1", NewPartitions.increaseTo(9))).all().get();
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "orders-2");
        Collection<AlterConfigOp> set = List.of(
            new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.SET));
        Collection<AlterConfigOp> unset = List.of(
            new AlterConfigOp(new ConfigEntry("cleanup.policy", null), AlterConfigOp.OpType.DELETE));
        admin.incrementalAlterConfigs(Map.of(topic, set)).all().get();
        admin.incrementalAlterConfigs(Map.of(topic, unset)).all().get();
        admin.deleteTopics(List.of("orders-3", "orders-4")).all().get();
    }

    private static void acls(Admin admin) throws Exception {
        List<AclBinding> bindings = new ArrayList<>();
        for (int number = 0; number < 8; number++) {
            bindings.add(new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, "orders-" + number, PatternType.PREFIXED),
                new AccessControlEntry("User:zoë-" + number, "*", AclOperation.READ, AclPermissionType.ALLOW)));
        }
        admin.createAcls(bindings).all().get();
        admin.deleteAcls(List.of(bindings.get(0).toFilter())).all().get();
    }

    private static void quotas(Admin admin) throws Exception {
        var user = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice", ClientQuotaEntity.CLIENT_ID, "app"));
        var anyone = new ClientQuotaEntity(Collections.singletonMap(ClientQuotaEntity.USER, null));
        admin.alterClientQuotas(List.of(
            new ClientQuotaAlteration(user, List.of(
                new ClientQuotaAlteration.Op("producer_byte_rate", 1048576.0),
                new ClientQuotaAlteration.Op("request_percentage", 12.5))),
            new ClientQuotaAlteration(anyone, List.of(
                new ClientQuotaAlteration.Op("consumer_byte_rate", 2e9))))).all().get();
        admin.alterClientQuotas(List.of(
            new ClientQuotaAlteration(user, List.of(
                new ClientQuotaAlteration.Op("request_percentage", null))))).all().get();
    }

    private static void scram(Admin admin) throws Exception {
        var info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        admin.alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion("alice", info, "alice-secret"),
            new UserScramCredentialUpsertion("bob", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192), "x")))
            .all().get();
        admin.alterUserScramCredentials(List.of(
            new UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_512))).all().get();
    }
}
