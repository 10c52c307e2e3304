"""Kubernetes' client as the line: the agent runs inside a container of a pod. Cluster and user are those of the user's present context."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .destination import USUAL, Destination, Options
from .inside import Client, stream_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment


def words(inside: str) -> list[str]:
    """Return kubectl's command line up to the program inside, for NAMESPACE/POD or NAMESPACE/POD/CONTAINER."""
    namespace, pod, *container = inside.split("/")
    return ["kubectl", "exec", "-i", f"--namespace={namespace}", pod, *(f"--container={one}" for one in container), "--"]


CLIENT = Client("kubectl", words, look="kubectl get pods", meanings=(
    (r"\(NotFound\): namespaces", "there is no namespace for {name}", "see them with: kubectl get namespaces"),
    (r"\(NotFound\)", "there is no pod for {name}", "see its name with kubectl get pods in that namespace; a new pod has a new name"),
    (r"\(Forbidden\)|is forbidden", "the cluster refuses exec for {name}: {words}", "ask for the right to create pods/exec in that namespace"),
    (r"\(Unauthorized\)|must be logged in|[Uu]nauthorized", "the cluster does not take this login for {name}",
     "log in anew; kubectl auth whoami shows who you are"),
    (r"connection to the server .* was refused|Unable to connect to the server|no such host|i/o timeout|TLS handshake timeout|x509:",
     "the cluster cannot be reached for {name}: {words}", "correct KUBECONFIG or the context: kubectl config current-context"),
    (r"container \S+ (?:is not valid for|not found in) pod", "there is no such container in the pod of {name}", "see them with: kubectl describe pod"),
    (r"container not found|is not running|completed pod|ContainerCreating|pod .* does not have a host assigned",
     "the container of {name} does not run: {words}",
     "see why with kubectl describe pod; its node can be looked at from outside"),
))


@dataclass(frozen=True)
class Kubectl:
    """Reaches a container of a pod through ``kubectl exec``."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "kubectl"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        yield from stream_inside(CLIENT, self.destination, self.options, shipment, deadline_s)
