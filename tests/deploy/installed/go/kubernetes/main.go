// Decodes every document of the standard input into the type that Kubernetes itself has for it. A field that it does not know,
// or has twice, or of another type, is an error.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

type kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func typeOf(of kind) any {
	switch of {
	case kind{"v1", "ConfigMap"}:
		return &core.ConfigMap{}
	case kind{"v1", "Service"}:
		return &core.Service{}
	case kind{"v1", "ServiceAccount"}:
		return &core.ServiceAccount{}
	case kind{"apps/v1", "Deployment"}:
		return &apps.Deployment{}
	case kind{"policy/v1", "PodDisruptionBudget"}:
		return &policy.PodDisruptionBudget{}
	case kind{"autoscaling/v2", "HorizontalPodAutoscaler"}:
		return &autoscaling.HorizontalPodAutoscaler{}
	case kind{"networking.k8s.io/v1", "NetworkPolicy"}:
		return &networking.NetworkPolicy{}
	case kind{"gateway.networking.k8s.io/v1", "HTTPRoute"}:
		return &gateway.HTTPRoute{}
	}
	return nil
}

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	failed := false
	for _, text := range strings.Split("\n"+string(input), "\n---") {
		var of kind
		if err := yaml.Unmarshal([]byte(text), &of); err != nil || of.Kind == "" {
			if strings.TrimSpace(text) != "" {
				fmt.Println("none:", err)
				failed = true
			}
			continue
		}
		into := typeOf(of)
		if into == nil {
			fmt.Println("unknown:", of)
			failed = true
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			fmt.Printf("%s: %v\n", of.Kind, err)
			failed = true
			continue
		}
		fmt.Println(of.Kind)
	}
	if failed {
		os.Exit(1)
	}
}
