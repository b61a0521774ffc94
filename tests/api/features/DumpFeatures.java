import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.controller.QuorumFeatures;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.server.common.FeatureVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Prints what Kafka's own classes know of metadata.version and of the other production features, as tab separated lines.
 * The classes moved between the releases (3.9 calls Feature `Features`), so they are asked for by either name.
 */
public final class DumpFeatures {
    public static void main(String[] args) throws ReflectiveOperationException {
        MetadataVersion newest = MetadataVersion.LATEST_PRODUCTION;
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            // Before 4.0 the list begins with levels that no KRaft quorum can have.
            if (version.isProduction() && version.featureLevel() > 0) {
                print("metadata", version.version(), version.featureLevel());
            }
        }
        print("default", MetadataVersion.FEATURE_NAME, newest.featureLevel());
        for (Object feature : productionFeatures()) {
            String name = (String) call(feature, "featureName");
            short latest = (Short) call(feature, "latestProduction");
            for (FeatureVersion level : (FeatureVersion[]) call(feature, "featureVersions")) {
                if (level.featureLevel() > latest) {
                    continue;
                }
                print("feature", name, level.featureLevel());
                for (Map.Entry<String, Short> needs : new TreeMap<>(level.dependencies()).entrySet()) {
                    print("dependency", name, level.featureLevel(), needs.getKey(), needs.getValue());
                }
            }
            print("default", name, defaultLevel(feature, newest));
        }
        for (Map.Entry<String, VersionRange> range : new TreeMap<>(supported()).entrySet()) {
            print("supported", range.getKey(), range.getValue().min(), range.getValue().max());
        }
    }

    /** What a controller of this release registers with, and reports by ApiVersions, when nothing unstable is allowed. */
    @SuppressWarnings("unchecked")
    private static Map<String, VersionRange> supported() throws ReflectiveOperationException {
        Method method = either(QuorumFeatures.class, "defaultSupportedFeatureMap", "defaultFeatureMap", boolean.class);
        return (Map<String, VersionRange>) method.invoke(null, false);
    }

    private static List<?> productionFeatures() throws ReflectiveOperationException {
        Class<?> features;
        try {
            features = Class.forName("org.apache.kafka.server.common.Feature");
        } catch (ClassNotFoundException e) {
            features = Class.forName("org.apache.kafka.server.common.Features");
        }
        return (List<?>) features.getField("PRODUCTION_FEATURES").get(null);
    }

    private static Object defaultLevel(Object feature, MetadataVersion version) throws ReflectiveOperationException {
        Method method = either(feature.getClass(), "defaultLevel", "defaultValue", MetadataVersion.class);
        return method.invoke(feature, version);
    }

    private static Method either(Class<?> owner, String now, String before, Class<?> argument) throws NoSuchMethodException {
        try {
            return owner.getMethod(now, argument);
        } catch (NoSuchMethodException e) {
            return owner.getMethod(before, argument);
        }
    }

    private static Object call(Object target, String method) throws ReflectiveOperationException {
        return target.getClass().getMethod(method).invoke(target);
    }

    private static void print(Object... columns) {
        System.out.println(String.join("\t", Arrays.stream(columns).map(String::valueOf).toList()));
    }
}
