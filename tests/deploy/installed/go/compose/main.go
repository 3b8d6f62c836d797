// Loads a Compose file as Docker Compose does: variables, merges, paths and the rules between services.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:2], cli.WithEnv(os.Args[2:]))
	if err == nil {
		project, failure := options.LoadProject(context.Background())
		err = failure
		if err == nil {
			for _, name := range project.ServiceNames() {
				fmt.Println(name)
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
