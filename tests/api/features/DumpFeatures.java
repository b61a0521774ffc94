import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.FeatureVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints what Kafka's own classes know of metadata.version and of the other production features, as tab separated lines. */
public final class DumpFeatures {
    public static void main(String[] args) {
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            if (version.isProduction()) {
                System.out.println("metadata\t" + version.version() + "\t" + version.featureLevel());
            }
        }
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            for (FeatureVersion level : feature.featureVersions()) {
                if (level.featureLevel() > feature.latestProduction()) {
                    continue;
                }
                Short needs = level.dependencies().getOrDefault(MetadataVersion.FEATURE_NAME, (short) 0);
                System.out.println("feature\t" + feature.featureName() + "\t" + level.featureLevel() + "\t" + needs
                    + "\t" + level.bootstrapMetadataVersion().featureLevel());
            }
        }
    }
}
