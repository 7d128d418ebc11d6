-- The health of an OutboxRelay, for Argo CD. It says the same as kstatus does,
-- and Suspended where no relay shall run. A backlog or an outage leaves the health
-- as it is: what else is not well is only named in the message.

-- Conditions that are bad when True, and those that are neither good nor bad. All
-- others are good when True.
local badWhenTrue = { BacklogOverLimit = true, FailedEvents = true }
local neither = { Ready = true, Reconciling = true, Stalled = true, ScalingLimited = true }

local function health(status, message)
  return { status = status, message = message }
end

local function isBad(condition)
  if neither[condition.type] then
    return false
  end
  if badWhenTrue[condition.type] then
    return condition.status == "True"
  end
  return condition.status == "False"
end

local function complaints(conditions, said)
  local list = {}
  for _, condition in ipairs(conditions) do
    if isBad(condition) and condition.message ~= said then
      list[#list + 1] = condition.type .. "=" .. condition.status .. ": " .. (condition.message or "")
    end
  end
  return list
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "it is being deleted")
end

local status = obj.status or {}
local conditions = status.conditions or {}
if status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "the operator has not seen the newest spec yet")
end

local found = {}
for _, condition in ipairs(conditions) do
  found[condition.type] = condition
end

local function with(state, condition)
  local sentences = complaints(conditions, condition.message)
  if condition.message ~= nil then
    table.insert(sentences, 1, condition.message)
  end
  return health(state, table.concat(sentences, "; "))
end

local function isTrue(condition)
  return condition ~= nil and condition.status == "True"
end

if isTrue(found.Stalled) then
  return with("Degraded", found.Stalled)
end
if isTrue(found.Reconciling) then
  return with("Progressing", found.Reconciling)
end
if not isTrue(found.Ready) then
  return with("Progressing", found.Ready or { message = "the operator has not said yet whether it is ready" })
end
if obj.spec ~= nil and obj.spec.suspend then
  return with("Suspended", found.Ready)
end
return with("Healthy", found.Ready)
