// certmanager is the controller of cert-manager with what the tests need: Certificates, and issuers that are self-signed
// or have an authority's key. Its own main program is a Go module that is published nowhere, and it also has ACME, Vault
// and Venafi, ingresses and the election of a leader. Without its webhook, nobody but the API server checks what is
// applied, by the schemas of its definitions.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/cert-manager/cert-manager/pkg/controller"
	logf "github.com/cert-manager/cert-manager/pkg/logs"

	// Each of these registers itself by its name.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

const (
	workers     = 2
	backoffLow  = 10 * time.Second // an hour in cert-manager: too long for a test
	backoffHigh = time.Minute
)

func main() {
	var options controller.ContextOptions
	flag.StringVar(&options.Kubeconfig, "kubeconfig", "", "a kubeconfig; by default the pod's service account")
	flag.StringVar(&options.Namespace, "namespace", "", "only this namespace; by default all")
	flag.StringVar(&options.ClusterResourceNamespace, "cluster-resource-namespace", "cert-manager",
		"where the Secrets of ClusterIssuers are")
	health := flag.String("health", ":9403", "the address that answers /livez when every controller was started")
	list := flag.Bool("list", false, "print the names of the controllers, and end")
	klog.InitFlags(nil)
	flag.Parse()
	if *list {
		for _, name := range names() {
			fmt.Println(name)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(logf.NewContext(ctx, klog.Background()), options, *health); err != nil {
		fmt.Fprintln(os.Stderr, "certmanager:", err)
		os.Exit(1)
	}
}

func names() []string {
	var found []string
	for name := range controller.Known() {
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}

func run(ctx context.Context, options controller.ContextOptions, health string) error {
	options.CertificateOptions = controller.CertificateOptions{
		CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/"},
		CertificateRequestMinimumBackoffDuration: backoffLow,
		CertificateRequestMaximumBackoffDuration: backoffHigh,
	}
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names() {
		if options.Namespace != "" && name == "clusterissuers" {
			continue
		}
		one, err := controller.Known()[name](factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group.Go(func() error { return one.Run(workers, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	group.Go(func() error { return serve(ctx, health) })
	return group.Wait()
}

func serve(ctx context.Context, address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}
