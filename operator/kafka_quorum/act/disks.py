"""Carry out actions on disks: create the pods that work on them and the claims for copies, and delete both.

Names follow from what is done, so an action whose answer was lost finds its object there, and makes no second one.
"""

from dataclasses import dataclass
from functools import partial

from kafka_quorum.act.building import Context, Unbuildable, built, record_of
from kafka_quorum.kind import POOLS
from kafka_quorum.model import actions
from kafka_quorum.model.disk_work import DiskWork
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.surveyed import Source
from kafka_quorum.resources import recovery
from kafka_quorum.resources.seeds import pool_of, why_refused
from kit.kube.protocol import CLAIMS, PODS, Json, KubeApi


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """Acts on disks of one operator."""

    kube: KubeApi
    pull_policy: str

    async def work(self, action: actions.OnDisks, context: Context) -> None:
        """Carry out this action."""
        namespace = context.desired.namespace
        match action:
            case actions.CreateInspector(work=work, revision=revision, kube_node=kube_node):
                await self._check_seed(work.source, context)
                await self.kube.create(PODS, namespace, self._pod(work, revision, context, kube_node))
            case actions.CreateCopier(work=copying, revision=revision):
                await self.kube.create(PODS, namespace, self._pod(copying, revision, context))
            case actions.CreateRewriter(work=rewriting, revision=revision):
                if rewriting.seed is not None:
                    await self._check_seed(rewriting.seed.source, context)
                await self.kube.create(PODS, namespace, self._pod(rewriting, revision, context))
            case actions.DeleteWorker(worker=worker, force=force):
                uid, version = worker.uid, worker.resource_version
                await self.kube.delete(PODS, namespace, worker.name, uid=uid, resource_version=version, ended=force)
            case actions.CreateCopy(name=name, claim=claim, node_id=node_id, epoch=epoch):
                body = built(partial(recovery.copy_claim, context.desired, name, claim, node_id, epoch))
                await self.kube.create(CLAIMS, namespace, body)
            case actions.DeleteCopy(copy=copy):
                uid, version = copy.uid, copy.resource_version
                await self.kube.delete(CLAIMS, namespace, copy.name, uid=uid, resource_version=version)

    async def _check_seed(self, source: Source, context: Context) -> None:
        """Read the claim of a seed again, just before a pod mounts it (`Unbuildable`: it may not)."""
        if not source.is_seed:
            return
        place = context.desired.namespace
        claim = await self.kube.get(CLAIMS, place, source.claim)
        pool = await self.kube.get(POOLS, place, of) if (of := pool_of(claim)) else None
        if why := why_refused(claim, pool, name=source.claim, namespace=place, quorum=context.desired.name):
            raise Unbuildable(why)

    def _pod(self, work: DiskWork, revision: Revision, context: Context, kube_node: str = "") -> Json:
        """The pod of this work (`Unbuildable`)."""
        if not context.agent_image:
            way_out = "Set KQ_OPERATOR_IMAGE in its environment, as the chart does"
            raise Unbuildable(f"the operator's own image, which the pod runs, is not known. {way_out}")
        return built(
            partial(
                recovery.worker,
                context.desired,
                record_of(context),
                work,
                revision,
                image=context.agent_image,
                pull_policy=self.pull_policy,
                kube_node=kube_node,
            )
        )
