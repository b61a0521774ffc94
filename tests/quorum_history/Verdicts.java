import org.apache.kafka.server.common.MetadataVersion;

/** Prints `PRESENT<tab>TARGET<tab>CHANGED` for all pairs of levels, as Kafka decides about a safe downgrade. */
public class Verdicts {
    public static void main(String[] arguments) {
        for (MetadataVersion present : MetadataVersion.VERSIONS) {
            for (MetadataVersion target : MetadataVersion.VERSIONS) {
                if (target.compareTo(present) < 0 && present.isProduction()) {
                    System.out.println(present.featureLevel() + "\t" + target.featureLevel() + "\t"
                        + MetadataVersion.checkIfMetadataChanged(present, target));
                }
            }
        }
    }
}
