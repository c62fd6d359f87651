// Package contrib judges the files of contrib/ by the published types and schemas of others.
package contrib

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetesJobs: every field is one of the API's, and the rules that the API server checks beyond the types hold.
func TestKubernetesJobs(t *testing.T) {
	files, err := filepath.Glob("../../contrib/kubernetes/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var job batchv1.Job
		if err := yaml.UnmarshalStrict(text, &job); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Name == "" {
			t.Errorf("%s: %s %s %q", file, job.APIVersion, job.Kind, job.Name)
		}
		checkJob(t, filepath.Base(file), job.Spec)
	}
}

// checkJob has rules of the API server's validation of a Job.
func checkJob(t *testing.T, file string, spec batchv1.JobSpec) {
	t.Helper()
	pod := spec.Template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("%s: podFailurePolicy needs restartPolicy Never", file)
	}
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if (spec.BackoffLimitPerIndex != nil) != indexed || (spec.MaxFailedIndexes != nil) != indexed || (spec.Completions != nil) != indexed {
		t.Errorf("%s: completions and limits per index go with completionMode Indexed, and only with it", file)
	}
	for _, rule := range spec.PodFailurePolicy.Rules {
		if rule.Action == batchv1.PodFailurePolicyActionFailIndex && !indexed {
			t.Errorf("%s: FailIndex needs an index", file)
		}
		if codes := rule.OnExitCodes; codes != nil {
			if codes.ContainerName == nil || *codes.ContainerName != pod.Containers[0].Name || !slices.IsSorted(codes.Values) ||
				slices.Contains(codes.Values, 0) || codes.Operator != batchv1.PodFailurePolicyOnExitCodesOpIn {
				t.Errorf("%s: exit codes %+v", file, codes)
			}
		}
		if (rule.OnExitCodes != nil) == (len(rule.OnPodConditions) > 0) {
			t.Errorf("%s: a rule has codes or conditions", file)
		}
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			t.Errorf("%s: no volume %s", file, mount.Name)
		}
	}
}
