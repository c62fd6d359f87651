package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// job has the fields of a Kubernetes Job that concern us; tools/contrib reads all of them, strictly.
type job struct {
	Spec struct {
		PodFailurePolicy struct {
			Rules []struct {
				Action      string `yaml:"action"`
				OnExitCodes struct {
					Values []int `yaml:"values"`
				} `yaml:"onExitCodes"`
			} `yaml:"rules"`
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec struct {
				Containers []struct {
					Args []string `yaml:"args"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

// jobs reads those of contrib/kubernetes.
func jobs(t *testing.T) map[string]job {
	t.Helper()
	all := map[string]job{}
	for _, name := range []string{"job.yaml", "indexed-job.yaml"} {
		text, err := os.ReadFile("../../contrib/kubernetes/" + name)
		var j job
		if err == nil {
			err = yaml.Unmarshal(text, &j)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = j
	}
	return all
}

// TestKubernetesJobsFollowTheRetryTable: a Job stops for the codes for which a scheduler stops, and for no other.
func TestKubernetesJobsFollowTheRetryTable(t *testing.T) {
	var stops []int
	for _, o := range exit.Outcomes {
		if strings.HasPrefix(o.Retry, "stop") {
			stops = append(stops, o.Code)
		}
	}
	for name, j := range jobs(t) {
		var got []int
		for _, rule := range j.Spec.PodFailurePolicy.Rules {
			switch codes := rule.OnExitCodes.Values; {
			case len(codes) > 0 && (rule.Action == "FailJob" || rule.Action == "FailIndex"):
				got = append(got, codes...)
			case len(codes) > 0:
				t.Errorf("%s: %s for %v", name, rule.Action, codes)
			}
		}
		if !slices.Equal(got, stops) {
			t.Errorf("%s fails for %v, docs/exit-codes.md stops for %v", name, got, stops)
		}
	}
}

// TestKubernetesJobsRun: the command lines of the Jobs alter a table.
func TestKubernetesJobsRun(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	place := regexp.MustCompile(`^--(host|user|defaults-file)=`)
	for name, j := range jobs(t) {
		table, query := table(t, i, 10)
		var args []string
		for _, arg := range j.Spec.Template.Spec.Containers[0].Args {
			if !place.MatchString(arg) {
				args = append(args, strings.NewReplacer("shop.orders", table, "/state", t.TempDir()).Replace(arg))
			}
		}
		code, stdout, stderr := midstream(t, append(args[:len(args):len(args)], flagsTo(t, i)...)...)
		if _, result, _ := records(t, stdout); code != exit.Done || result.Outcome != "done" {
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, stdout, stderr)
		}
		if got := query(columns); got != "id,a,b,note" {
			t.Errorf("%s: columns %s", name, got)
		}
	}
}
