// Reads the standard input, a bootstrap of Envoy as JSON, into Envoy's own types, and checks it by the rules that they carry.
package main

import (
	"fmt"
	"io"
	"os"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreams "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	input, err := io.ReadAll(os.Stdin)
	check(err)
	var config bootstrap.Bootstrap
	check(protojson.Unmarshal(input, &config))
	check(config.ValidateAll())
	for _, listener := range config.StaticResources.Listeners {
		for _, chain := range listener.FilterChains {
			for _, filter := range chain.Filters {
				var own manager.HttpConnectionManager
				check(filter.GetTypedConfig().UnmarshalTo(&own))
				check(own.ValidateAll())
				fmt.Println("listener", listener.Name)
			}
		}
	}
	for _, cluster := range config.StaticResources.Clusters {
		for _, options := range cluster.TypedExtensionProtocolOptions {
			var own upstreams.HttpProtocolOptions
			check(options.UnmarshalTo(&own))
			check(own.ValidateAll())
		}
		fmt.Println("cluster", cluster.Name)
	}
}
