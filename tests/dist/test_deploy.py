"""The Kubernetes objects, the chart, the composition and the alert rules, rendered by the tools that
render them and checked against the API's schemas (`make deploy-test`)."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import ROOT

TOOLS = ROOT / "build/deploy-tools/bin"
DEPLOY = ROOT / "deploy"
KUBERNETES = "1.30"
PROMETHEUS_OPERATOR = {"ServiceMonitor"}  # its kinds have no schema in Kubernetes' own
WEIR = ROOT / "build/release/weir"


def tool(name):
    path = shutil.which(name, path=f"{TOOLS}:{os.environ['PATH']}")
    if path is None:
        pytest.skip(f"no {name}: tools/deploy-tools could not get it")
    return path


def run(name, *words, stdin=None):
    done = subprocess.run([tool(name), *words], input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kustomize(folder):
    return run("kustomize", "build", str(DEPLOY / folder))


def helm(*settings):
    words = ["template", "weir", str(DEPLOY / "helm/weir"), "--namespace", "weir"]
    return run("helm", *words, "--kube-version", f"{KUBERNETES}.0", *settings)


def objects(text):
    return {tree["kind"]: tree for tree in yaml.safe_load_all(text) if tree}


def assert_valid(text, path):
    """Every object is one of the API, no member is unknown."""
    path.write_text(text)
    command = [tool("kubernetes-validate"), "--strict", "-k", KUBERNETES, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    unknown = set(re.findall(r"find schema for kind (\w+)", said))
    assert unknown <= PROMETHEUS_OPERATOR
    assert said.count("INFO") >= len(objects(text)) - len(unknown), said


HELM_SETTINGS = [
    [],
    ["--set", "tlsSecret=t,existingSecret=s,serviceMonitor.enabled=true,ingress.enabled=true"],
    ["--set", "autoscaling.enabled=false,podDisruptionBudget.enabled=false,networkPolicy.enabled=false"],
    ["--set", "extraArgs={--log-level,debug},podAnnotations.a=b,podLabels.c=d,nodeSelector.e=f"],
]


@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/base"])
def test_kustomize_objects_are_of_the_api(folder, tmp_path):
    assert_valid(kustomize(folder), tmp_path / "all.yaml")


@pytest.mark.parametrize("settings", HELM_SETTINGS)
def test_helm_objects_are_of_the_api(settings, tmp_path):
    assert_valid(helm(*settings), tmp_path / "all.yaml")


def test_the_chart_is_good():
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", str(DEPLOY / "helm/weir"))


def test_chart_and_base_are_the_same_objects():
    base = objects(kustomize("kubernetes"))
    chart = objects(helm("--set", "serviceMonitor.enabled=true"))
    assert set(base) - {"Namespace"} == set(chart)
    for kind in ("PodDisruptionBudget", "HorizontalPodAutoscaler"):
        differ = [tree[kind]["spec"] for tree in (base, chart)]
        for spec in differ:
            spec.pop("selector", None)
        assert differ[0] == differ[1]
    pods = [tree["Deployment"]["spec"]["template"]["spec"] for tree in (base, chart)]
    containers = [pod["containers"][0] for pod in pods]
    for key in ("securityContext", "terminationGracePeriodSeconds", "automountServiceAccountToken"):
        assert pods[0][key] == pods[1][key]
    for key in """args ports resources startupProbe readinessProbe livenessProbe lifecycle
        securityContext volumeMounts""".split():
        assert containers[0][key] == containers[1][key], key


def assert_restricted(pod):
    """The standard `restricted`, as far as it is about us."""
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert not any(key in pod for key in ("hostNetwork", "hostPID", "hostIPC"))
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
    assert all("hostPath" not in volume for volume in pod["volumes"])


def test_pods_are_restricted_and_probed():
    base = objects(kustomize("kubernetes"))
    assert base["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for text in (kustomize("kubernetes"), helm(*HELM_SETTINGS[1])):
        pod = objects(text)["Deployment"]["spec"]["template"]["spec"]
        assert_restricted(pod)
        container = pod["containers"][0]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert ports == {"api": 8033, "health": 8034}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["port"] == "health"


def test_selectors_find_the_pods_and_nothing_else():
    base = objects(kustomize("kubernetes"))
    labels = base["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    for selector in (
        base["Deployment"]["spec"]["selector"]["matchLabels"],
        base["Service"]["spec"]["selector"],
        base["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        base["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        base["ServiceMonitor"]["spec"]["selector"]["matchLabels"],
    ):
        assert selector and selector.items() <= labels
    egress = base["NetworkPolicy"]["spec"]["egress"][-1]["to"][0]["podSelector"]["matchLabels"]
    assert egress == {"app.kubernetes.io/name": "vllm"}


@pytest.mark.parametrize("which", ["kustomize", "helm", "helm as a text"])
def test_the_configuration_in_the_configmap_is_good(which, tmp_path):
    if not WEIR.is_file():
        pytest.skip("build/release/weir is not built")
    if which == "kustomize":
        text = kustomize("kubernetes")
    else:
        written = DEPLOY / "kubernetes/base/weir.yaml"
        text = helm(*(["--set-file", f"config={written}"] if "text" in which else []))
    config = tmp_path / "weir.yaml"
    config.write_text(objects(text)["ConfigMap"]["data"]["weir.yaml"])
    done = subprocess.run([WEIR, "--check-config", "--config", config], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{config}: ok\n")


def test_versions_are_one():
    version = re.search(r"project\(weir VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    chart = yaml.safe_load((DEPLOY / "helm/weir/Chart.yaml").read_text())
    base = yaml.safe_load((DEPLOY / "kubernetes/base/kustomization.yaml").read_text())
    assert [chart["version"], chart["appVersion"], base["images"][0]["newTag"]] == [version] * 3
    assert f"${{WEIR_VERSION:-{version}}}" in (DEPLOY / "docker-compose.yaml").read_text()


def test_the_composition():
    tree = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
    weir = tree["services"]["weir"]
    assert weir["read_only"] is True and weir["cap_drop"] == ["ALL"]
    assert weir["depends_on"]["vllm"] == {"condition": "service_healthy"}
    folder = DEPLOY / weir["volumes"][0].split(":")[0]
    assert (folder / "weir.yaml").is_file()


def test_alert_rules_and_the_dashboard_s_queries(tmp_path):
    assert "SUCCESS" in run("promtool", "check", "rules", str(DEPLOY / "grafana/alerts.yaml"))
    board = json.loads((DEPLOY / "grafana/weir.json").read_text())
    queries = [t["expr"] for panel in board["panels"] for t in panel.get("targets", [])]
    rules = [
        {"record": f"query:n{n}", "expr": query.replace("$__rate_interval", "5m")}
        for n, query in enumerate(queries)
    ]
    path = tmp_path / "queries.yaml"
    path.write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))
    assert f"{len(queries)} rules found" in run("promtool", "check", "rules", str(path))
