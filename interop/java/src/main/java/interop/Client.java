package interop;

import com.alibaba.csp.sentinel.Entry;
import com.alibaba.csp.sentinel.EntryType;
import com.alibaba.csp.sentinel.SphU;
import com.alibaba.csp.sentinel.cluster.ClusterStateManager;
import com.alibaba.csp.sentinel.cluster.TokenResult;
import com.alibaba.csp.sentinel.cluster.client.ClusterTokenClient;
import com.alibaba.csp.sentinel.cluster.client.TokenClientProvider;
import com.alibaba.csp.sentinel.cluster.client.config.ClusterClientAssignConfig;
import com.alibaba.csp.sentinel.cluster.client.config.ClusterClientConfig;
import com.alibaba.csp.sentinel.cluster.client.config.ClusterClientConfigManager;
import com.alibaba.csp.sentinel.cluster.registry.ConfigSupplierRegistry;
import com.alibaba.csp.sentinel.init.InitExecutor;
import com.alibaba.csp.sentinel.slots.block.BlockException;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRuleManager;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowRuleManager;
import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The commands of a token client, and of calls guarded by cluster rules. */
final class Client {
    private final ClusterTokenClient client;

    Client(String namespace) {
        ConfigSupplierRegistry.setNamespaceSupplier(() -> namespace);
        InitExecutor.doInit();
        client = TokenClientProvider.getClient();
    }

    void register(Commands commands) {
        commands.add("timeout", this::timeout);
        commands.add("server", this::server);
        commands.add("start", this::start);
        commands.add("stop", this::stop);
        commands.add("state", this::state);
        commands.add("flow", this::flow);
        commands.add("param", this::param);
        commands.add("together", this::together);
        commands.add("flow-rules", this::flowRules);
        commands.add("param-rules", this::paramRules);
        commands.add("guard", this::guard);
    }

    /** timeout MILLISECONDS of a request. */
    private JSONObject timeout(String milliseconds) {
        ClusterClientConfig config = new ClusterClientConfig().setRequestTimeout(Integer.valueOf(milliseconds));
        ClusterClientConfigManager.applyNewConfig(config);
        return Commands.done();
    }

    /** server HOST PORT: the assignment; another one replaces the connection. */
    private JSONObject server(String arguments) {
        String[] parts = arguments.split(" ");
        ClusterClientConfigManager.applyNewAssignConfig(
            new ClusterClientAssignConfig(parts[0], Integer.valueOf(parts[1])));
        return Commands.done();
    }

    /** start: takes the role of a client, which connects. */
    private JSONObject start(String nothing) {
        ClusterStateManager.applyState(ClusterStateManager.CLUSTER_CLIENT);
        return Commands.done();
    }

    /** stop: disconnects for good; the role stays. */
    private JSONObject stop(String nothing) throws Exception {
        client.stop();
        return Commands.done();
    }

    /** state: 0 off, 1 pending, 2 started. */
    private JSONObject state(String nothing) {
        return new JSONObject().fluentPut("state", client.getState());
    }

    /** flow ID COUNT PRIORITIZED. */
    private JSONObject flow(String arguments) {
        return result(askFlow(arguments.split(" ")));
    }

    private TokenResult askFlow(String[] parts) {
        return client.requestToken(Long.valueOf(parts[0]), Integer.parseInt(parts[1]), Boolean.parseBoolean(parts[2]));
    }

    /** param ID COUNT TYPE:VALUE... */
    private JSONObject param(String arguments) {
        String[] parts = arguments.split(" ");
        List<Object> values = Values.parse(parts, 2);
        return result(client.requestParamToken(Long.valueOf(parts[0]), Integer.parseInt(parts[1]), values));
    }

    /** together CALLERS ID COUNT PRIORITIZED: as many requests at the same time; answers with how many had which status. */
    private JSONObject together(String arguments) throws Exception {
        String[] parts = arguments.split(" ", 2);
        int callers = Integer.parseInt(parts[0]);
        String[] request = parts[1].split(" ");
        ExecutorService pool = Executors.newFixedThreadPool(callers);
        try {
            Map<String, Integer> statuses = new TreeMap<>();
            Callable<TokenResult> call = () -> askFlow(request);
            for (Future<TokenResult> f : pool.invokeAll(Collections.nCopies(callers, call))) {
                statuses.merge(String.valueOf(f.get().getStatus()), 1, Integer::sum);
            }
            return new JSONObject().fluentPut("statuses", statuses);
        } finally {
            pool.shutdown();
        }
    }

    /** flow-rules JSON: the local rules, which name the flow ids to ask for. */
    private JSONObject flowRules(String json) {
        FlowRuleManager.loadRules(JSON.parseArray(json, FlowRule.class));
        return new JSONObject().fluentPut("rules", FlowRuleManager.getRules().size());
    }

    /** param-rules JSON: the local rules, which name the flow ids to ask for. */
    private JSONObject paramRules(String json) {
        ParamFlowRuleManager.loadRules(JSON.parseArray(json, ParamFlowRule.class));
        return new JSONObject().fluentPut("rules", ParamFlowRuleManager.getRules().size());
    }

    /** guard RESOURCE PRIORITIZED TYPE:VALUE...: a guarded call; says whether it passed and how long the entry took. */
    private JSONObject guard(String arguments) {
        String[] parts = arguments.split(" ");
        Object[] values = Values.parse(parts, 2).toArray();
        long start = System.nanoTime();
        String block = enter(parts[0], Boolean.parseBoolean(parts[1]), values);
        long millis = (System.nanoTime() - start) / 1_000_000;
        return new JSONObject().fluentPut("passed", block.isEmpty()).fluentPut("block", block).fluentPut("millis", millis);
    }

    private static String enter(String resource, boolean prioritized, Object[] values) {
        Entry entry = null;
        try {
            entry = prioritized
                ? SphU.entryWithPriority(resource, EntryType.OUT)
                : SphU.entry(resource, EntryType.OUT, 1, values);
            return "";
        } catch (BlockException e) {
            return e.getClass().getSimpleName();
        } finally {
            if (entry != null) {
                entry.exit(1, values);
            }
        }
    }

    private static JSONObject result(TokenResult result) {
        return new JSONObject()
            .fluentPut("status", result.getStatus())
            .fluentPut("remaining", result.getRemaining())
            .fluentPut("waitMs", result.getWaitInMs());
    }
}
