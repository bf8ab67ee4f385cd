package interop;

import com.alibaba.csp.sentinel.cluster.flow.rule.ClusterFlowRuleManager;
import com.alibaba.csp.sentinel.cluster.flow.rule.ClusterParamFlowRuleManager;
import com.alibaba.csp.sentinel.cluster.flow.statistic.ClusterMetricStatistics;
import com.alibaba.csp.sentinel.cluster.server.ClusterTokenServer;
import com.alibaba.csp.sentinel.cluster.server.SentinelDefaultTokenServer;
import com.alibaba.csp.sentinel.cluster.server.config.ClusterServerConfigManager;
import com.alibaba.csp.sentinel.cluster.server.config.ServerFlowConfig;
import com.alibaba.csp.sentinel.cluster.server.config.ServerTransportConfig;
import com.alibaba.csp.sentinel.cluster.server.connection.ConnectionManager;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowRule;
import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.LinkedHashSet;

/** The commands of a standalone token server. */
final class Server {
    private static final int IDLE_SECONDS = 600;
    private static final long START_DEADLINE_NANOS = 20_000_000_000L;

    private final ClusterTokenServer server = new SentinelDefaultTokenServer();

    void register(Commands commands) {
        commands.add("namespaces", this::namespaces);
        commands.add("flow-config", this::flowConfig);
        commands.add("flow-rules", this::flowRules);
        commands.add("param-rules", this::paramRules);
        commands.add("forget", this::forget);
        commands.add("start", this::start);
        commands.add("stop", this::stop);
        commands.add("status", this::status);
    }

    /** namespaces JSON: the namespace set. */
    private JSONObject namespaces(String json) {
        ClusterServerConfigManager.loadServerNamespaceSet(new LinkedHashSet<>(JSON.parseArray(json, String.class)));
        return Commands.done();
    }

    /** flow-config JSON: the global ServerFlowConfig. */
    private JSONObject flowConfig(String json) {
        ClusterServerConfigManager.loadGlobalFlowConfig(JSON.parseObject(json, ServerFlowConfig.class));
        return Commands.done();
    }

    /** flow-rules NAMESPACE JSON: answers with how many are in force. */
    private JSONObject flowRules(String arguments) {
        String[] parts = arguments.split(" ", 2);
        ClusterFlowRuleManager.loadRules(parts[0], JSON.parseArray(parts[1], FlowRule.class));
        return new JSONObject().fluentPut("rules", ClusterFlowRuleManager.getFlowRules(parts[0]).size());
    }

    /** param-rules NAMESPACE JSON: answers with how many are in force. */
    private JSONObject paramRules(String arguments) {
        String[] parts = arguments.split(" ", 2);
        ClusterParamFlowRuleManager.loadRules(parts[0], JSON.parseArray(parts[1], ParamFlowRule.class));
        return new JSONObject().fluentPut("rules", ClusterParamFlowRuleManager.getParamRules(parts[0]).size());
    }

    /** forget ID: drops the counters of a flow rule, so that the server answers FAIL. */
    private JSONObject forget(String id) {
        ClusterMetricStatistics.removeMetric(Long.parseLong(id));
        return Commands.done();
    }

    /** start PORT: returns when the port accepts connections. */
    private JSONObject start(String port) throws Exception {
        int number = Integer.parseInt(port);
        ClusterServerConfigManager.loadGlobalTransportConfig(new ServerTransportConfig(number, IDLE_SECONDS));
        server.start();
        awaitOpen(number);
        return Commands.done();
    }

    private JSONObject stop(String nothing) throws Exception {
        server.stop();
        return Commands.done();
    }

    /** status: the connected count of every namespace of the set. */
    private JSONObject status(String nothing) {
        JSONObject connected = new JSONObject();
        for (String namespace : ClusterServerConfigManager.getNamespaceSet()) {
            connected.put(namespace, ConnectionManager.getConnectedCount(namespace));
        }
        return new JSONObject().fluentPut("connected", connected);
    }

    private static void awaitOpen(int port) throws Exception {
        long deadline = System.nanoTime() + START_DEADLINE_NANOS;
        while (true) {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
                return;
            } catch (IOException e) {
                if (System.nanoTime() > deadline) {
                    throw e;
                }
                Thread.sleep(20);
            }
        }
    }
}
